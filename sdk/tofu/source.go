// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"net"
	"net/url"
	"path"
	"regexp"
	"strings"

	"darkshift.io/infrared/sdk/provider"
)

// SourceKind is how a module is fetched.
type SourceKind string

// The kinds of source.
const (
	// SourceGit is a git repository over https or ssh, at a ref.
	SourceGit SourceKind = "git"
	// SourceRegistry is a module of a registry, as NAMESPACE/NAME/SYSTEM.
	SourceRegistry SourceKind = "registry"
	// SourceArchive is a zip or tar file over https.
	SourceArchive SourceKind = "archive"
)

// Source is where a module is. The zero value is none.
type Source struct {
	Kind SourceKind
	// Scheme is https or ssh, or http on this machine; empty for a registry.
	Scheme string
	// Host is the host with its port, in small letters; a registry's own where the source names none.
	Host string
	// User is whom ssh signs in as.
	User string
	// Path is the repository's, archive's or module's path without slashes at its ends.
	Path string
	// Folder is the module's folder in it; empty: its root.
	Folder string
	// Ref is the tag, branch or commit; empty: none is named.
	Ref string
}

// defaultRegistry is where OpenTofu looks for a module whose source names no registry.
const defaultRegistry = "registry.opentofu.org"

const fieldSource = "source"

// ParseSource reads where a module is, in OpenTofu's words:
//
//	git::https://example.com/modules.git//aws/eks?ref=v1.2.0    also git::ssh://git@example.com/modules.git
//	github.com/acme/modules//aws/eks?ref=release/2027.1         also git@example.com:acme/modules.git
//	terraform-aws-modules/eks/aws                               also registry.example.com/acme/eks/aws//modules/x
//	https://example.com/modules.zip//eks
//
// A path on this machine, a password, and every other form is Invalid. The error never repeats the source, as it may hold a
// password.
func ParseSource(text string) (Source, error) {
	for _, c := range text {
		if c <= ' ' || c == '\\' || c == 0x7f || strings.ContainsRune("\"'`<>|^{}$", c) {
			return Source{}, provider.Invalidf(fieldSource, "has a blank or another character that no source has")
		}
	}
	rest, query, _ := strings.Cut(text, "?")
	switch {
	case text == "":
		return Source{}, provider.Invalidf(fieldSource, "is empty")
	case strings.HasPrefix(text, ".") || strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || strings.HasPrefix(text, "file:"):
		return Source{}, provider.Invalidf(fieldSource, "is a path on the machine that runs OpenTofu: name a git repository or a registry's module")
	case strings.HasPrefix(text, "git::"):
		return parseGit(strings.TrimPrefix(rest, "git::"), query)
	case strings.Contains(text, "::"):
		return Source{}, provider.Invalidf(fieldSource, "is fetched in a way that is not supported: use git::https://HOST/REPOSITORY.git//FOLDER?ref=TAG")
	case scpShape().MatchString(rest):
		m := scpShape().FindStringSubmatch(rest)
		return parseGit("ssh://"+m[1]+"@"+m[2]+"/"+m[3], query)
	case strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://"):
		return parseArchive(rest, query)
	case strings.Contains(text, "://"):
		return Source{}, provider.Invalidf(fieldSource, "has a scheme that is not supported: use git::https://, git::ssh:// or https://")
	}
	return parseShort(rest, query)
}

// scpShape is git's short form of an ssh address, such as git@example.com:acme/modules.git.
func scpShape() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z0-9._-]+)@([A-Za-z0-9.-]+):([^/:][^:]*)$`)
}

// parseShort reads a host that everybody knows, or else a registry's module.
func parseShort(rest, query string) (Source, error) {
	host, repository, _ := strings.Cut(rest, "/")
	if host == "github.com" || host == "gitlab.com" || host == "bitbucket.org" {
		whole, folder, _ := strings.Cut(repository, "//")
		parts := strings.SplitN(whole, "/", 3)
		if len(parts) < 2 || parts[0] == "" || parts[1] == "" {
			return Source{}, provider.Invalidf(fieldSource, "names no repository: use %s/OWNER/REPOSITORY//FOLDER?ref=TAG", host)
		}
		if len(parts) == 3 {
			folder = path.Join(parts[2], folder)
		}
		address := "https://" + host + "/" + parts[0] + "/" + strings.TrimSuffix(parts[1], ".git") + ".git"
		if folder != "" {
			address += "//" + folder
		}
		return parseGit(address, query)
	}
	module, folder, err := splitFolder(rest)
	if err != nil {
		return Source{}, err
	}
	parts := strings.Split(module, "/")
	source := Source{Kind: SourceRegistry, Host: defaultRegistry, Path: module, Folder: folder}
	if len(parts) == 4 && strings.Contains(parts[0], ".") {
		source.Host, source.Path = strings.ToLower(parts[0]), strings.Join(parts[1:], "/")
		parts = parts[1:]
	}
	for _, part := range parts {
		if !regexp.MustCompile(`^[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62}[0-9A-Za-z])?$`).MatchString(part) {
			parts = nil
		}
	}
	switch {
	case len(parts) != 3:
		return Source{}, provider.Invalidf(fieldSource, "is no source: use git::https://HOST/REPOSITORY.git//FOLDER?ref=TAG or a registry's NAMESPACE/NAME/SYSTEM")
	case query != "":
		return Source{}, provider.Invalidf(fieldSource, "a registry's module takes nothing behind a question mark")
	}
	return source, nil
}

func parseGit(address, query string) (Source, error) {
	source, err := parseAddress(address)
	if err != nil {
		return Source{}, err
	}
	source.Kind = SourceGit
	if strings.Contains(query, "//") && strings.Contains(query, "ref=") {
		return Source{}, provider.Invalidf(fieldSource, "the folder stands before the question mark: REPOSITORY.git//FOLDER?ref=TAG")
	}
	values, err := url.ParseQuery(strings.ReplaceAll(query, "+", "%2B"))
	if err != nil {
		return Source{}, provider.Invalidf(fieldSource, "what is behind the question mark can't be read")
	}
	for name := range values {
		if name != "ref" || len(values[name]) != 1 {
			return Source{}, provider.Invalidf(fieldSource, "takes one ref behind the question mark and nothing else")
		}
	}
	if source.Ref = values.Get("ref"); values.Has("ref") && !goodRef(source.Ref) {
		return Source{}, provider.Invalidf(fieldSource, "the ref is no tag, branch or commit")
	}
	return source, nil
}

func parseArchive(address, query string) (Source, error) {
	source, err := parseAddress(address)
	if err != nil {
		return Source{}, err
	}
	source.Kind = SourceArchive
	switch {
	case strings.HasSuffix(source.Path, ".git"):
		return Source{}, provider.Invalidf(fieldSource, "is a git repository: write git:: before it")
	case !regexp.MustCompile(`\.(zip|tar|tgz|tar\.gz|tar\.bz2|tbz2|tar\.xz|txz)$`).MatchString(source.Path):
		return Source{}, provider.Invalidf(fieldSource, "is neither a zip nor a tar file: write git:: before a git repository")
	case query != "":
		return Source{}, provider.Invalidf(fieldSource, "an archive takes nothing behind a question mark")
	}
	return source, nil
}

// parseAddress reads SCHEME://[USER@]HOST/PATH[//FOLDER].
func parseAddress(address string) (Source, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return Source{}, provider.Invalidf(fieldSource, "is no address")
	}
	source := Source{Scheme: u.Scheme, Host: strings.ToLower(u.Host)}
	_, password := u.User.Password()
	switch {
	case password, u.Scheme != "ssh" && u.User != nil:
		return Source{}, provider.Invalidf(fieldSource, "holds a password or a user: put the token into the credentials as GIT_TOKEN, and take it out of the source")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return Source{}, provider.Invalidf(fieldSource, "is fetched over http, which anybody on the way can change: use https")
	case u.Scheme != "https" && u.Scheme != "ssh" && u.Scheme != "http":
		return Source{}, provider.Invalidf(fieldSource, "has a scheme that is not supported: use https or ssh")
	case u.Fragment != "":
		return Source{}, provider.Invalidf(fieldSource, "has a # in it")
	}
	source.User = u.User.Username()
	if strings.HasPrefix(source.User, "-") || strings.HasPrefix(source.Host, "-") {
		return Source{}, provider.Invalidf(fieldSource, "is no address")
	}
	whole, folder, err := splitFolder(strings.TrimPrefix(u.Path, "/"))
	if err != nil {
		return Source{}, err
	}
	if source.Path, source.Folder = whole, folder; whole == "" {
		return Source{}, provider.Invalidf(fieldSource, "names no repository on its host")
	}
	return source, nil
}

// splitFolder parts PATH//FOLDER.
func splitFolder(text string) (whole, folder string, err error) {
	whole, folder, _ = strings.Cut(text, "//")
	whole, folder = strings.Trim(whole, "/"), strings.Trim(folder, "/")
	for part := range strings.SplitSeq(whole+"/"+folder, "/") {
		if part == ".." || part == "." || part == ".git" {
			return "", "", provider.Invalidf(fieldSource, "has the folder %q in its path", part)
		}
	}
	return whole, folder, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// goodRef says whether git takes ref as the name of a tag or branch, and no program as a flag.
func goodRef(ref string) bool {
	return len(ref) <= 200 && regexp.MustCompile(`^[0-9A-Za-z_][0-9A-Za-z._+/@=,-]*$`).MatchString(ref) &&
		!strings.Contains(ref, "..") && !strings.Contains(ref, "//") && !strings.Contains(ref, "/.") && !strings.Contains(ref, "@{") &&
		!strings.HasSuffix(ref, "/") && !strings.HasSuffix(ref, ".") && !strings.HasSuffix(ref, ".lock")
}

// CheckVersion says what is wrong with a template's version, as Invalid; nil: it can be a git tag.
func CheckVersion(version string) error {
	if version == "" || strings.ContainsAny(version, "@=,") || !goodRef(version) {
		return provider.Invalidf("version", "%q is no version: use a tag of the modules' repository, such as v0.14.0", cut(version, 60))
	}
	return nil
}

// At is the source at a version, where it names no ref of its own.
func (s Source) At(version string) Source {
	if s.Kind == SourceGit && s.Ref == "" {
		s.Ref = version
	}
	return s
}

// String is the source in the words of OpenTofu, in the form in which every ref can be written.
func (s Source) String() string {
	var text strings.Builder
	switch s.Kind {
	case SourceGit:
		text.WriteString("git::")
		fallthrough
	case SourceArchive:
		text.WriteString(s.Scheme + "://")
		if s.User != "" {
			text.WriteString(url.User(s.User).String() + "@")
		}
		text.WriteString(s.Host + "/" + (&url.URL{Path: s.Path}).EscapedPath())
	case SourceRegistry:
		if s.Host != defaultRegistry {
			text.WriteString(s.Host + "/")
		}
		text.WriteString(s.Path)
	}
	if s.Folder != "" {
		text.WriteString("//" + (&url.URL{Path: s.Folder}).EscapedPath())
	}
	if s.Ref != "" {
		// A plus sign means a blank there unless it is escaped.
		text.WriteString("?ref=" + strings.ReplaceAll(url.QueryEscape(s.Ref), "%2F", "/"))
	}
	return text.String()
}

// Allowed is a part of the sources there are.
type Allowed struct {
	// Host is the host with its port, such as github.com; registry.opentofu.org for modules that name no registry.
	Host string
	// Path is the path that the source's begins with, in whole parts: acme allows acme/modules and not acme2/modules. Empty: all
	// of the host.
	Path string
}

// allow says whether one of the list covers the source; nil is the list that covers all.
func allow(list []Allowed, s Source) bool {
	for _, a := range list {
		prefix := strings.Trim(a.Path, "/")
		inside := prefix == "" || s.Path == prefix || strings.TrimSuffix(s.Path, ".git") == prefix || strings.HasPrefix(s.Path, prefix+"/")
		if strings.EqualFold(a.Host, s.Host) && inside {
			return true
		}
	}
	return list == nil
}
