package main

import (
	"os"
	"strings"
	"testing"
)

// TestKubernetes checks the file of the repository, and that copies of it with a mistake are refused.
func TestKubernetes(t *testing.T) {
	file, err := os.ReadFile("../../deploy/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := kubernetes(file); err != nil {
		t.Fatal(err)
	}
	for _, mistake := range []struct{ old, new, want string }{
		{"replicas: 1", "replicas: 2", "one replica"},
		{"replicas: 1", "replica: 1", "unknown field"},
		{"periodSeconds: 10", "periodSeconds: ten", "cannot unmarshal"},
		{"type: RollingUpdate", "type: OnDelete", "does not replace"},
		{"matchLabels: {app.kubernetes.io/name: punchcard}", "matchLabels: {app: punchcard}", "does not select its pods"},
		{"targetPort: http", "targetPort: web", "port that is not there"},
		{"livenessProbe:", "readinessProbe:", "already set"},
		{"path: /healthz", "path: /health", "no probe of /healthz"},
		{"mountPath: /data", "mountPath: /var/data", "no volume for the file"},
		{"secretName: punchcard", "secretName: mail", "not of the Secret"},
		{"smtp-password: CHANGE-ME", "password: CHANGE-ME", "not in the Secret"},
		{"readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "root file system"},
		{"accessModes: [ReadWriteOnce]", "accessModes: [ReadWriteMany]", "not for one machine"},
		{"drop: [ALL]", "drop: []", "capabilities"},
		{"runAsNonRoot: true", "runAsUser: 0", "already set"},
		{"      enableServiceLinks: false\n", "", "adds variables"},
		{"kind: Service\n", "kind: Ingress\n", "not checked"},
	} {
		text := strings.Replace(string(file), mistake.old, mistake.new, 1)
		if text == string(file) {
			t.Errorf("the file has no %q", mistake.old)
		} else if err := kubernetes([]byte(text)); err == nil || !strings.Contains(err.Error(), mistake.want) {
			t.Errorf("%q: %v, want %s", mistake.new, err, mistake.want)
		}
	}
}
