// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/provider"
)

func TestParseSource(t *testing.T) {
	tests := map[string]struct {
		reason string
		text   string
		want   Source
		says   string // String; empty: text
	}{
		"GitHTTPS": {
			reason: "The plain form with a folder and a tag reaches OpenTofu unchanged.",
			text:   "git::https://example.net/m.git//eks?ref=v1",
			want:   Source{Kind: SourceGit, Scheme: "https", Host: "example.net", Path: "m.git", Folder: "eks", Ref: "v1"},
		},
		"GitSSH": {
			reason: "ssh signs in as a user, which is no secret.",
			text:   "git::ssh://git@example.net/m.git//eks?ref=v1",
			want:   Source{Kind: SourceGit, Scheme: "ssh", Host: "example.net", User: "git", Path: "m.git", Folder: "eks", Ref: "v1"},
		},
		"SCP": {
			reason: "git's short form of the same.",
			text:   "git@example.net:acme/m.git//eks?ref=v1",
			want:   Source{Kind: SourceGit, Scheme: "ssh", Host: "example.net", User: "git", Path: "acme/m.git", Folder: "eks", Ref: "v1"},
			says:   "git::ssh://git@example.net/acme/m.git//eks?ref=v1",
		},
		"Registry": {
			reason: "A registry's module has versions of its own.",
			text:   "terraform-aws-modules/eks/aws",
			want:   Source{Kind: SourceRegistry, Host: defaultRegistry, Path: "terraform-aws-modules/eks/aws"},
		},
		"RegistryWithHost": {
			reason: "Another registry, and a folder of the module.",
			text:   "registry.example.com/acme/eks/aws//modules/node",
			want:   Source{Kind: SourceRegistry, Host: "registry.example.com", Path: "acme/eks/aws", Folder: "modules/node"},
		},
		"RegistryAsListed": {
			reason: "This is how OpenTofu lists what it fetched from its own registry.",
			text:   "registry.opentofu.org/acme/eks/aws",
			want:   Source{Kind: SourceRegistry, Host: defaultRegistry, Path: "acme/eks/aws"},
			says:   "acme/eks/aws",
		},
		"PlusSentAsIs": {
			reason: "A plus means a blank in a query, so OpenTofu must get it escaped.",
			text:   "git::https://example.net/m.git?ref=v0.3.0+tf.0.13.3",
			want:   Source{Kind: SourceGit, Scheme: "https", Host: "example.net", Path: "m.git", Ref: "v0.3.0+tf.0.13.3"},
			says:   "git::https://example.net/m.git?ref=v0.3.0%2Btf.0.13.3",
		},
		"PlusEscaped": {
			reason: "Whoever escaped it means the same.",
			text:   "git::https://example.net/m.git?ref=v0.3.0%2Btf.0.13.3",
			want:   Source{Kind: SourceGit, Scheme: "https", Host: "example.net", Path: "m.git", Ref: "v0.3.0+tf.0.13.3"},
		},
		"BareGitHub": {
			reason: "The bare form can't carry a ref with a slash, the git form can.",
			text:   "github.com/acme/modules//aws/eks?ref=release/2027.1",
			want:   Source{Kind: SourceGit, Scheme: "https", Host: "github.com", Path: "acme/modules.git", Folder: "aws/eks", Ref: "release/2027.1"},
			says:   "git::https://github.com/acme/modules.git//aws/eks?ref=release/2027.1",
		},
		"BareGitHubFolder": {
			reason: "What follows the repository there is a folder, too.",
			text:   "github.com/acme/modules.git/aws/eks",
			want:   Source{Kind: SourceGit, Scheme: "https", Host: "github.com", Path: "acme/modules.git", Folder: "aws/eks"},
			says:   "git::https://github.com/acme/modules.git//aws/eks",
		},
		"Archive": {
			reason: "A file over https.",
			text:   "https://example.net/modules.tar.gz//eks",
			want:   Source{Kind: SourceArchive, Scheme: "https", Host: "example.net", Path: "modules.tar.gz", Folder: "eks"},
		},
		"Loopback": {
			reason: "http is fine where nobody is on the way.",
			text:   "git::http://127.0.0.1:8080/m.git?ref=gke-cluster/v1.2.0",
			want:   Source{Kind: SourceGit, Scheme: "http", Host: "127.0.0.1:8080", Path: "m.git", Ref: "gke-cluster/v1.2.0"},
		},
		"UpperCaseHost": {
			reason: "Names of hosts have no case, and the list of allowed ones must not be got around by it.",
			text:   "git::https://Example.NET/M.git",
			want:   Source{Kind: SourceGit, Scheme: "https", Host: "example.net", Path: "M.git"},
			says:   "git::https://example.net/M.git",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseSource(tc.text)
			if err != nil {
				t.Fatalf("%s\nrefused: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			says := tc.says
			if says == "" {
				says = tc.text
			}
			if got.String() != says {
				t.Errorf("%s\nOpenTofu gets %q, want %q", tc.reason, got, says)
			}
			again, err := ParseSource(got.String())
			if err != nil || again != got {
				t.Errorf("read again it is %+v, %v", again, err)
			}
		})
	}
}

func TestParseSourceRefuses(t *testing.T) {
	tests := map[string]struct{ reason, text, want string }{
		"Empty":          {"There is nothing to fetch.", "", "is empty"},
		"Here":           {"A path is on the machine of whoever runs OpenTofu.", "./m", "path on the machine"},
		"Above":          {"The same.", "../m", "path on the machine"},
		"Absolute":       {"The same.", "/etc", "path on the machine"},
		"FileScheme":     {"The same in another dress.", "file:///etc", "path on the machine"},
		"GitFile":        {"git reads paths as well.", "git::file:///srv/m.git", "is no address"},
		"GitPath":        {"The same without a scheme.", "git::/srv/m.git", "is no address"},
		"GitExt":         {"This form runs a program.", "git::ext::sh", "no address"},
		"Password":       {"It would end up in .git/config, in logs and in the state.", "git::https://oauth2:S3CR3T@example.net/m.git", "GIT_TOKEN"},
		"TokenAsUser":    {"So would a token that stands where the user does.", "git::https://S3CR3T@example.net/m.git", "GIT_TOKEN"},
		"SSHPassword":    {"ssh takes none from an address anyway.", "git::ssh://git:S3CR3T@example.net/m.git", "GIT_TOKEN"},
		"HTTP":           {"Whoever is on the way can put his own code in.", "git::http://example.net/m.git", "use https"},
		"RefBeforeDir":   {"The wrong order makes the folder a part of the ref.", "git::https://example.net/m.git?ref=v1//eks", "before the question mark"},
		"TwoRefs":        {"One of them would win in silence.", "git::https://example.net/m.git?ref=v1&ref=v2", "one ref"},
		"Depth":          {"Nothing but the ref is needed.", "git::https://example.net/m.git?ref=v1&depth=1", "one ref"},
		"SSHKey":         {"A key in an address is a secret in an object that everybody reads.", "git::ssh://git@example.net/m.git?sshkey=S3CR3T", "one ref"},
		"RefAsFlag":      {"git would take it for a flag.", "git::https://example.net/m.git?ref=--upload-pack=x", "no tag, branch or commit"},
		"FolderUp":       {"A folder outside of what was fetched.", "git::https://example.net/m.git//../../etc", `".."`},
		"Blank":          {"No source has one.", "git::https://example.net/m .git", "blank"},
		"NewLine":        {"No source has one, and it could forge a line of a log.", "a/b/c\nd", "blank"},
		"Template":       {"It would be read as OpenTofu's language.", "git::https://example.net/${x}.git", "blank"},
		"S3":             {"Other ways of fetching need credentials of their own.", "s3::https://s3.amazonaws.com/b/m.zip", "not supported"},
		"OCI":            {"The same.", "oci://example.net/m", "not supported"},
		"NotAnArchive":   {"A page is no module.", "https://example.net/modules", "neither a zip nor a tar"},
		"GitWithoutGit":  {"It would be fetched as a page.", "https://example.net/m.git", "write git::"},
		"TwoParts":       {"A registry's module has three.", "acme/eks", "is no source"},
		"HostOnly":       {"There is no repository.", "github.com/acme", "names no repository"},
		"UserAsFlag":     {"ssh would take it for a flag.", "git::ssh://-oProxyCommand=x@example.net/m.git", "no address"},
		"FragmentSneaks": {"What follows would not be compared with the list of allowed ones.", "git::https://example.net/m.git#x", "#"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseSource(tc.text)
			if !errors.Is(err, provider.Invalid) || !strings.HasPrefix(err.Error(), "source: ") || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("%s\ngot %+v, %v; want Invalid with %q", tc.reason, got, err, tc.want)
			}
			if strings.Contains(err.Error(), "S3CR3T") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

func TestCheckVersion(t *testing.T) {
	for _, version := range []string{"v0.14.0", "v0.3.0+tf.0.13.3", "release/2027.1", "gke-cluster/v1.2.0"} {
		if err := CheckVersion(version); err != nil {
			t.Errorf("%q is a tag as they are made, and was refused: %v", version, err)
		}
	}
	for _, version := range []string{"v1&depth=1", "v1?x=y", "../x", "--upload-pack=x", "v 1", "", "v1//eks", "v1\n", "@{-1}", "v1.lock", "a/.b"} {
		if err := CheckVersion(version); !errors.Is(err, provider.Invalid) || !strings.HasPrefix(err.Error(), "version: ") {
			t.Errorf("%q is no tag: got %v, want Invalid", version, err)
		}
	}
}

func TestAllow(t *testing.T) {
	parse := func(text string) Source {
		source, err := ParseSource(text)
		if err != nil {
			t.Fatal(err)
		}
		return source
	}
	tests := map[string]struct {
		reason string
		list   []Allowed
		source string
		want   bool
	}{
		"NoList":     {"Without a list all are allowed.", nil, "git::https://example.net/m.git", true},
		"EmptyList":  {"A list of nothing allows nothing.", []Allowed{}, "git::https://example.net/m.git", false},
		"Host":       {"A whole host.", []Allowed{{Host: "example.net"}}, "git::https://EXAMPLE.net/m.git", true},
		"OtherPort":  {"Another port is another server.", []Allowed{{Host: "example.net"}}, "git::https://example.net:8443/m.git", false},
		"Below":      {"A path covers what is below it.", []Allowed{{Host: "github.com", Path: "acme"}}, "github.com/acme/modules", true},
		"SamePrefix": {"And not what merely begins the same.", []Allowed{{Host: "github.com", Path: "acme"}}, "github.com/acme2/modules", false},
		"Repository": {"A repository is meant with and without its ending.", []Allowed{{Host: "github.com", Path: "acme/modules"}}, "github.com/acme/modules//x", true},
		"Registry":   {"A registry's modules go by its own name.", []Allowed{{Host: defaultRegistry, Path: "acme"}}, "acme/eks/aws", true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := allow(tc.list, parse(tc.source)); got != tc.want {
				t.Errorf("%s\ngot %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

func TestSourceOf(t *testing.T) {
	o := Options{Source: "git::https://example.net/modules.git//aws/eks?ref={version}", Allow: []Allowed{{Host: "example.org"}}}
	tests := map[string]struct{ reason, source, version, want, err string }{
		"OwnAtVersion":    {"The provider's own module at the template's version, whatever the list allows.", "", "v0.3.0+tf.0.13.3", "git::https://example.net/modules.git//aws/eks?ref=v0.3.0%2Btf.0.13.3", ""},
		"OddVersion":      {"A version must not become another argument.", "", "v1&depth=1", "", "version: "},
		"NoVersion":       {"A module without a version is whatever is there today.", "", "", "", "version: "},
		"VersionAppended": {"A repository without a ref is at the template's version.", "git::https://example.org/m.git//eks", "v1", "git::https://example.org/m.git//eks?ref=v1", ""},
		"OwnRefStays":     {"A source with a ref keeps it.", "git::https://example.org/m.git?ref=v9", "v1", "git::https://example.org/m.git?ref=v9", ""},
		"NotAllowed":      {"A module is code that runs with our rights.", "git::https://example.net/m.git?ref=v9", "v1", "", "not among the sources"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := o.sourceOf(provider.BuildRequest{Source: tc.source, Version: tc.version})
			if tc.err != "" {
				if !errors.Is(err, provider.Invalid) || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s\ngot %v, %v; want Invalid with %q", tc.reason, got, err, tc.err)
				}
				return
			}
			if err != nil || got.String() != tc.want {
				t.Errorf("%s\ngot %v, %v; want %s", tc.reason, got, err, tc.want)
			}
		})
	}
}
