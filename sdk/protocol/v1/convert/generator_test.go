// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// generator fills values of any of the provider's types, by reflection: a type that is added later needs nothing here.
type generator struct {
	rand *rand.Rand
	// full leaves nothing at its zero value.
	full bool
	// enums are the constants of each enumeration, by the type's name.
	enums map[string][]string
	// serial keeps texts apart, so that two fields that are mixed up show.
	serial int
}

func newGenerator(enums map[string][]string, seed uint64, full bool) *generator {
	return &generator{rand: rand.New(rand.NewPCG(seed, 2)), full: full, enums: enums}
}

// value makes a value of a type.
func (g *generator) value(of reflect.Type) any {
	v := reflect.New(of).Elem()
	g.fill(v)
	return v.Interface()
}

// fill sets v, which must be settable.
func (g *generator) fill(v reflect.Value) {
	if v.Type() == reflect.TypeFor[netip.Prefix]() {
		// One without a value is none, and is left out.
		g.serial++
		v.Set(reflect.ValueOf(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(g.serial), 0, 0}), 16)))
		return
	}
	if !g.full && g.rand.IntN(4) == 0 {
		v.SetZero()
		return
	}
	g.serial++
	switch v.Interface().(type) {
	case provider.Secret:
		v.Set(reflect.ValueOf(provider.NewSecret(fmt.Sprintf("secret \xff\x00 %d", g.serial))))
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(g.rand.Int64N(4e9), g.rand.Int64N(1e9)).UTC()))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(fmt.Sprintf(`{"n":%d}`, g.serial))))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(g.text(v.Type()))
	case reflect.Int32, reflect.Int64:
		n := 1 + g.rand.Int64N(1<<30)
		if !g.full && g.rand.IntN(2) == 0 {
			n = -n
		}
		v.SetInt(n)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		g.fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			g.fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+g.rand.IntN(3), 3))
		for i := range v.Len() {
			if of := v.Type().Elem(); of.Kind() == reflect.String && len(g.enums[of.Name()]) > 0 {
				// An element without a value is one that the other side does not know, and is left out.
				v.Index(i).SetString(g.text(of))
				continue
			}
			g.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 1 + g.rand.IntN(3) {
			element := reflect.New(v.Type().Elem()).Elem()
			g.fill(element)
			g.serial++
			v.SetMapIndex(reflect.ValueOf(fmt.Sprintf("key ü %d", g.serial)), element)
		}
	case reflect.Uint8:
		v.SetUint(uint64(1 + g.rand.IntN(255)))
	default:
		panic("the generator does not know how to fill a " + v.Type().String() + ": teach it")
	}
}

// text is one of the constants for an enumeration, and anything for a plain string.
func (g *generator) text(of reflect.Type) string {
	if of == reflect.TypeFor[string]() {
		return fmt.Sprintf("text ü %d", g.serial)
	}
	all := g.enums[of.Name()]
	if len(all) == 0 {
		panic("there are no constants of the type " + of.String())
	}
	return all[g.rand.IntN(len(all))]
}

// constants reads the string constants of package provider from its source, since reflection does not see them.
func constants(t testing.TB) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("../../../provider/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source of package provider was found: %v", err)
	}
	found := map[string][]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if group, ok := decl.(*ast.GenDecl); ok && group.Tok == token.CONST {
				collect(group, found)
			}
		}
	}
	return found
}

// collect adds a group's constants that have a type of their own and a text as their value.
func collect(group *ast.GenDecl, found map[string][]string) {
	for _, spec := range group.Specs {
		value := spec.(*ast.ValueSpec)
		of, named := value.Type.(*ast.Ident)
		if !named || len(value.Values) != 1 {
			continue
		}
		if literal, ok := value.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if said, err := strconv.Unquote(literal.Value); err == nil {
				found[of.Name] = append(found[of.Name], said)
			}
		}
	}
}
