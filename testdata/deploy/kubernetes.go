package main

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// objects are those of a file.
type objects struct {
	secret  core.Secret
	service core.Service
	set     apps.StatefulSet
}

// kubernetes checks a file with a Secret, a Service and a StatefulSet: the names and types of all fields, that what
// one object says of another is there, and that the server runs once and without rights.
func kubernetes(text []byte) error {
	var o objects
	kinds := map[string]any{"v1/Secret": &o.secret, "v1/Service": &o.service, "apps/v1/StatefulSet": &o.set}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal([]byte(document), &head); err != nil {
			return err
		}
		kind := head.APIVersion + "/" + head.Kind
		object, ok := kinds[kind]
		if !ok {
			return fmt.Errorf("%s is twice there, or not checked", kind)
		}
		delete(kinds, kind)
		if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	if len(kinds) > 0 {
		return fmt.Errorf("there is no %v", slices.Collect(maps.Keys(kinds)))
	}
	return o.check()
}

// check returns an error for each rule that does not hold.
func (o *objects) check() error {
	var failed error
	must := func(holds bool, rule string, args ...any) {
		if !holds {
			failed = errors.Join(failed, fmt.Errorf(rule, args...))
		}
	}
	pod := o.set.Spec.Template
	must(len(pod.Spec.Containers) == 1, "the pod has %d containers", len(pod.Spec.Containers))
	if failed != nil {
		return failed
	}
	server := pod.Spec.Containers[0]
	must(maps.Equal(o.set.Spec.Selector.MatchLabels, pod.Labels), "the StatefulSet does not select its pods")
	must(maps.Equal(o.service.Spec.Selector, pod.Labels), "the Service does not select the pods")
	must(o.set.Spec.ServiceName == o.service.Name, "the StatefulSet names another Service")
	must(value(o.set.Spec.Replicas) == 1, "there is not one replica")
	must(o.set.Spec.UpdateStrategy.Type == apps.RollingUpdateStatefulSetStrategyType, "a new pod does not replace the old one")
	must(o.set.Spec.UpdateStrategy.RollingUpdate == nil, "the update has a number of pods at once")
	must(value(pod.Spec.TerminationGracePeriodSeconds) > 20, "the server has too little time to end")

	ports := map[string]bool{}
	for _, p := range server.Ports {
		ports[p.Name] = true
	}
	for _, p := range o.service.Spec.Ports {
		must(ports[p.TargetPort.StrVal], "the Service names a port that is not there: %s", p.TargetPort.StrVal)
	}
	for path, probe := range map[string]*core.Probe{"/readyz": server.ReadinessProbe, "/healthz": server.LivenessProbe} {
		http := value(value(probe).HTTPGet)
		must(http.Path == path && ports[http.Port.StrVal], "there is no probe of %s at a port", path)
	}
	start := value(value(server.StartupProbe).HTTPGet)
	must(start.Path == "/readyz" && ports[start.Port.StrVal], "there is no probe of the start")
	o.checkVolumes(must)

	user, own := value(pod.Spec.SecurityContext), value(server.SecurityContext)
	must(value(user.RunAsNonRoot) && value(user.RunAsUser) == 65532 && value(user.FSGroup) == 65532, "the pod has another user")
	must(value(user.SeccompProfile).Type == core.SeccompProfileTypeRuntimeDefault, "the pod has no seccomp profile")
	no := new(bool)
	must(value(own.ReadOnlyRootFilesystem), "the container can write to its root file system")
	must(reflect.DeepEqual(own.AllowPrivilegeEscalation, no), "the container can get more rights")
	must(reflect.DeepEqual(own.Capabilities, &core.Capabilities{Drop: []core.Capability{"ALL"}}), "the container has capabilities")
	must(reflect.DeepEqual(pod.Spec.EnableServiceLinks, no), "the cluster adds variables")
	must(reflect.DeepEqual(pod.Spec.AutomountServiceAccountToken, no), "the cluster adds a token")
	return failed
}

// value returns what p points to, or the zero value.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// checkVolumes checks that volumes are mounted, that files in variables are in one of them, and that secrets have these.
func (o *objects) checkVolumes(must func(holds bool, rule string, args ...any)) {
	pod := o.set.Spec.Template.Spec
	server := pod.Containers[0]
	volumes := map[string]bool{}
	for _, c := range o.set.Spec.VolumeClaimTemplates {
		volumes[c.Name] = true
		one := []core.PersistentVolumeAccessMode{core.ReadWriteOnce}
		must(slices.Equal(c.Spec.AccessModes, one), "the claim %s is not for one machine", c.Name)
		must(c.Spec.Resources.Requests.Storage().Sign() > 0, "the claim %s has no size", c.Name)
	}
	files := map[string]bool{} // of the secret
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
		must(v.Secret != nil && v.Secret.SecretName == o.secret.Name, "the volume %s is not of the Secret", v.Name)
		for _, m := range server.VolumeMounts {
			for key := range o.secret.StringData {
				files[m.MountPath+"/"+key] = files[m.MountPath+"/"+key] || m.Name == v.Name
			}
		}
	}
	data := false
	for _, m := range server.VolumeMounts {
		must(volumes[m.Name], "there is no volume %s", m.Name)
		data = data || m.MountPath == "/data" && !m.ReadOnly
	}
	must(data, "there is no volume for the file")
	for _, e := range server.Env {
		must(!strings.HasSuffix(e.Name, "_FILE") || files[e.Value], "%s is not in the Secret: %s", e.Name, e.Value)
	}
}
