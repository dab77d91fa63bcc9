# The local stack. Included by the Makefile.

IR     := .dev/bin/ir
# Without C. What judges the code is told so as well, so that it finds compiled what it needs.
STATIC := CGO_ENABLED=0

.PHONY: ir stack realnode

ir: ## Build the ir command
	@umask 022 && mkdir -p .dev/bin
	@$(STATIC) go build -o $(IR) ./cmd/ir

stack: ir ## Compile the local stack: about 35 CPU minutes the first time, then nothing
	@umask 022 && $(IR) dev build

# A kubelet with a container engine, for ir dev up --node=real and make test-node.
realnode: ir
	@hack/realnode/install
	@umask 022 && $(IR) dev build kubelet
	@$(STATIC) go build -o .dev/bin/realnode ./hack/realnode
