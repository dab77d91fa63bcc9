// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package noise prints in every way a package can before main begins. It stands for the libraries that a plugin's author
// did not write. Its import path sorts before that of package stdout, which must be initialised first all the same.
package noise

import (
	"fmt"
	"log"
	"os"
)

// Kept is a logger made while standard output still looked like standard output.
var Kept = keep()

func keep() *log.Logger {
	//nolint:forbidigo // printing is what this package is for
	fmt.Println("noise: from a variable")
	return log.New(os.Stdout, "noise: kept: ", 0)
}

func init() {
	//nolint:forbidigo // printing is what this package is for
	fmt.Print("noise: from init, without an end of line ")
	//nolint:forbidigo // printing is what this package is for
	println("noise: from the runtime")
	_, _ = os.NewFile(1, "stdout").WriteString("noise: to file descriptor 1\n")
	Kept.Println("from init")
}
