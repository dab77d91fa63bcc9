# The local stack. Included by the Makefile.

IR := .dev/bin/ir

.PHONY: ir stack

ir: ## Build the ir command
	@mkdir -p .dev/bin
	@go build -o $(IR) ./cmd/ir

stack: ir ## Compile the local stack: about 30 CPU minutes the first time, then nothing
	@$(IR) dev build
