// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/testbuild"
	"darkshift.io/infrared/sdk/provider"
)

// patience is how long a test waits for what takes a second on an idle machine.
const testPatience = 2 * time.Minute

const namespace = "infrared"

// management is the API server of all tests of this package.
var management *server

type server struct {
	cp     *devstack.ControlPlane
	admin  *rest.Config
	client *kubernetes.Clientset
}

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "infrared-test-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		management, err = startServer(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the test environment:", err)
		return 1
	}
	defer management.cp.Stop()
	return m.Run()
}

func startServer(dir string) (*server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cp, err := devstack.StartControlPlane(ctx, devstack.Options{Dir: dir, Name: "management", UnsafeNoFsync: true, Components: []string{devstack.APIServer}})
	if err != nil {
		return nil, err
	}
	s := &server{cp: cp}
	if s.admin, err = clientcmd.BuildConfigFromFlags("", cp.Kubeconfig()); err == nil {
		s.admin.QPS = -1
		s.client, err = kubernetes.NewForConfig(s.admin)
	}
	if err == nil {
		_, err = s.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	}
	if err != nil {
		cp.Stop()
		return nil, err
	}
	return s, nil
}

// cluster is one cluster of a test's own, with all that the operator makes for its runs.
type cluster struct {
	t        *testing.T
	names    run.Names
	cloud    provider.Cluster
	programs testbuild.Programs
	// work, module, credentials and outside are folders. Each file of outside is a thing in the cloud.
	work, module, credentials, outside string
	kubeconfig                         string
	config                             *rest.Config
	runs                               int
}

const mostRuns = 12

func newCluster(t *testing.T, module string) *cluster {
	t.Helper()
	// Another run of the tests on this machine has another name.
	name := fmt.Sprintf("%s-%d", strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(strings.TrimPrefix(t.Name(), "Test"))), os.Getpid())
	name = name[max(0, len(name)-42):]
	name = strings.TrimLeft(name, "-0123456789")
	incarnation := "0123abcd-0000-4000-8000-000000000001"
	c := &cluster{
		t: t, names: run.NamesOf(name, incarnation), programs: testbuild.Build(t),
		cloud: provider.Cluster{Name: name, Incarnation: incarnation, Template: "toy/cluster"},
		work:  t.TempDir(), module: t.TempDir(), credentials: t.TempDir(), outside: t.TempDir(),
	}
	c.write(module, `{"type":"object","properties":{"names":{"type":"array"},"size":{"type":"string"}}}`)
	c.secret("MODULE_PROJECT", c.module)
	c.secret("CLOUD_PROJECT", c.outside)
	c.secret("GIT_TOKEN", "S3CR3T-git-token")
	c.prepare()
	return c
}

// write replaces the module.
func (c *cluster) write(module, schema string) {
	c.t.Helper()
	for name, text := range map[string]string{"main.tf": module, "schema.json": schema} {
		if err := os.WriteFile(filepath.Join(c.module, name), []byte(text), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *cluster) secret(name, value string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.credentials, name), []byte(value), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// must fails the test on an error.
func must[T any](t *testing.T, value T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// prepare makes what the operator makes, with just the rights that it gives.
func (c *cluster) prepare() {
	t, ctx, client := c.t, c.t.Context(), management.client
	t.Helper()
	var secrets, configMaps []string
	secrets = append(secrets, c.names.State(), c.names.Plan())
	secrets = append(secrets, c.names.AllParts()...)
	configMaps = append(configMaps, c.names.Ledger())
	for i := range mostRuns {
		configMaps = append(configMaps, c.record(i+1))
	}
	for _, name := range secrets {
		_, err := client.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{"example.com/kept"}}}, metav1.CreateOptions{})
		must(t, 0, err)
	}
	_, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: c.names.Ledger()}}, metav1.CreateOptions{})
	must(t, 0, err)
	_, err = client.CoordinationV1().Leases(namespace).Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: c.names.Lease()}}, metav1.CreateOptions{})
	must(t, 0, err)

	account := c.names.Account()
	meta := metav1.ObjectMeta{Name: account, Namespace: namespace}
	rule := func(group, resource string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names, Verbs: []string{"get", "update"}}
	}
	_, err = client.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	must(t, 0, err)
	_, err = client.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		rule("", "secrets", secrets...), rule("", "configmaps", configMaps...), rule("coordination.k8s.io", "leases", c.names.Lease()),
	}}, metav1.CreateOptions{})
	must(t, 0, err)
	_, err = client.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: namespace}},
	}, metav1.CreateOptions{})
	must(t, 0, err)
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	must(t, 0, err)
	c.config = rest.AnonymousClientConfig(management.admin)
	c.config.BearerToken = token.Status.Token
	file := clientcmdapi.NewConfig()
	file.Clusters["m"] = &clientcmdapi.Cluster{Server: c.config.Host, CertificateAuthorityData: c.config.CAData}
	file.AuthInfos["m"] = &clientcmdapi.AuthInfo{Token: c.config.BearerToken}
	file.Contexts["m"] = &clientcmdapi.Context{Cluster: "m", AuthInfo: "m"}
	file.CurrentContext = "m"
	c.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	must(t, 0, clientcmd.WriteToFile(*file, c.kubeconfig))
}

func (c *cluster) record(n int) string { return fmt.Sprintf("tofu-%s-%d", c.names.Suffix, n) }

// order is an order for this cluster.
func (c *cluster) order(action provider.Action, change ...func(*run.Order)) run.Order {
	o := run.Order{
		Cluster: c.cloud, Action: action, Version: "v1",
		Variables: map[string]json.RawMessage{}, Plugin: c.programs.Plugin, PluginSHA256: c.programs.SHA256, Template: "toy/cluster",
	}
	for _, f := range change {
		f(&o)
	}
	return o
}

// with sets a variable.
func with(name string, value any) func(*run.Order) {
	return func(o *run.Order) {
		text, _ := json.Marshal(value)
		o.Variables = maps.Clone(o.Variables)
		o.Variables[name] = text
	}
}

// eventually polls until check is content.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	deadline, tick := time.After(testPatience), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("still, at the end of the wait: %v", err)
		case <-tick.C:
		}
	}
}

// small is a module with a thing a name. Another size replaces them all.
const small = `
variable "names" {
  type    = set(string)
  default = ["a"]
}
variable "size" {
  type    = string
  default = "s"
}
resource "terraform_data" "thing" {
  for_each         = var.names
  triggers_replace = [var.size]
}
output "count" { value = length(terraform_data.thing) }
`

// chain is a module with three things, one after the other, in the cloud, which is a folder. The third waits at a gate.
func chain(cloud string) string {
	return fmt.Sprintf(`
resource "terraform_data" "one" {
  provisioner "local-exec" { command = "echo made >> %[1]s/one" }
}
resource "terraform_data" "two" {
  depends_on = [terraform_data.one]
  provisioner "local-exec" { command = "echo made >> %[1]s/two" }
}
resource "terraform_data" "three" {
  depends_on = [terraform_data.two]
  provisioner "local-exec" { command = "echo begun >> %[1]s/three; cat %[1]s/gate >/dev/null; echo made >> %[1]s/three" }
}
`, cloud)
}

// gated is a run of chain that stands at its gate, with what it has made in the ledger.
func gated(t *testing.T) (c *cluster, j *job, cloud string) {
	t.Helper()
	cloud = t.TempDir()
	must(t, 0, syscall.Mkfifo(filepath.Join(cloud, "gate"), 0o600))
	c = newCluster(t, chain(cloud))
	j = c.start(c.order(provider.ActionApply))
	eventually(t, func() error {
		select {
		case <-j.ended:
			t.Fatalf("the run has ended: %v", j.err)
		default:
		}
		if inCloud(cloud, "three") != "begun" || len(c.ledger().Made) < 2 {
			return errors.New("the third has not begun, or the ledger lacks the others")
		}
		return nil
	})
	return c, j, cloud
}

// inCloud is what became of a thing.
func inCloud(cloud, name string) string {
	text, _ := os.ReadFile(filepath.Join(cloud, name))
	return strings.Join(strings.Fields(string(text)), " ")
}

// opened lets runs through the gate from now on.
func opened(t *testing.T, cloud string) {
	t.Helper()
	gate := filepath.Join(cloud, "gate")
	// For reading too, so that it opens where nobody waits at it. Whoever does then sees its end.
	pipe, err := os.OpenFile(gate, os.O_RDWR, 0)
	must(t, 0, err)
	defer pipe.Close()
	must(t, 0, os.Remove(gate))
	must(t, 0, os.WriteFile(gate, nil, 0o600))
}

// ids are those of resources, sorted.
func ids(all []provider.Resource) []string {
	var found []string
	for _, r := range all {
		found = append(found, r.ID)
	}
	slices.Sort(found)
	return found
}

// addresses are those of changes with what is done, sorted.
func changed(all []provider.Change) []string {
	var found []string
	for _, change := range all {
		found = append(found, change.Address+" "+string(change.Operation))
	}
	slices.Sort(found)
	return found
}
