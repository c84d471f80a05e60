"""manifests.py check SCHEMA FILE..: compares manifests with the part of the published schemas that SCHEMA has.

manifests.py run FILE FOLDER: starts here what the manifest starts in pods, with the variables, the names and the arguments that
they have there; what they mount is FOLDER. The names lead to addresses of a network of this process alone. Prints what each pod
printed, and its exit code."""

import os
import re
import subprocess
import sys

import yaml


def load(path):
    with open(path, encoding="utf-8") as file:
        return [document for document in yaml.safe_load_all(file) if document]


class Schema:
    def __init__(self, path):
        schema = load(path)[0]
        self.kinds, self.types = schema["kinds"], schema["types"]
        self.errors = []

    def error(self, where, message):
        self.errors.append("%s: %s" % (where, message))

    def fields(self, value, fields, where):
        if not isinstance(value, dict):
            return self.error(where, "is no object")
        known = {name.rstrip("!"): kind for name, kind in fields.items()}
        for name in fields:
            if name.endswith("!") and name[:-1] not in value:
                self.error(where, "has no " + name[:-1])
        for name, each in value.items():
            if name in known:
                self.value(each, known[name], where + "." + name)
            else:
                self.error(where, "has %s, which is none of %s" % (name, ", ".join(sorted(known))))

    def value(self, value, kind, where):
        if isinstance(kind, list):
            if not isinstance(value, list):
                return self.error(where, "is no list")
            for index, each in enumerate(value):
                self.value(each, kind[0], "%s[%d]" % (where, index))
        elif kind in self.types:
            self.fields(value, self.types[kind], where)
        elif kind == "map":
            if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
                self.error(where, "is no map of strings")
        elif kind == "quantity":
            if not re.fullmatch(r"[0-9.]+(m|[KMGTPE]i?)?", str(value)):
                self.error(where, "is %r, not a quantity" % value)
        elif kind in ("string", "integer", "boolean"):
            if type(value) is not {"string": str, "integer": int, "boolean": bool}[kind]:
                self.error(where, "is %r, not of type %s" % (value, kind))
        elif value not in kind.split("|"):
            self.error(where, "is %r, not one of %s" % (value, kind))

    def check(self, path):
        objects = load(path)
        for document in objects:
            name = "%s/%s" % (document.get("apiVersion"), document.get("kind"))
            if name in self.kinds:
                self.fields(document, dict({"apiVersion!": "string", "kind!": "string", "metadata!": "Metadata"},
                                           **self.kinds[name]), document["kind"])
            else:
                self.error(os.path.basename(path), "there is no " + name)
        return len(objects)


class Pods:
    """What a manifest starts: a container, how often, and what the names and variables of each pod are."""

    def __init__(self, path):
        objects = {document["kind"]: document for document in load(path)}
        spec = next(objects[kind] for kind in ("TrainJob", "JobSet", "Job") if kind in objects)
        name, self.environment = spec["metadata"]["name"], lambda index: {}
        if spec["kind"] == "TrainJob":
            trainer, runtime = spec["spec"]["trainer"], objects["ClusterTrainingRuntime"]
            assert spec["spec"]["runtimeRef"]["name"] == runtime["metadata"]["name"]
            [replicated] = runtime["spec"]["template"]["spec"]["replicatedJobs"]
            self.count = trainer["numNodes"]
            self.host = lambda index: "%s-%s-0-%d.%s" % (name, replicated["name"], index, name)
            # As the plug-in for torch of Kubeflow Trainer sets them.
            self.environment = lambda index: {
                "PET_NNODES": self.count, "PET_NPROC_PER_NODE": trainer["numProcPerNode"], "PET_NODE_RANK": index,
                "PET_MASTER_ADDR": self.host(0), "PET_MASTER_PORT": 29500}
            job = replicated["template"]
        elif spec["kind"] == "JobSet":
            [replicated] = spec["spec"]["replicatedJobs"]
            self.host = lambda index: "%s-%s-0-%d.%s" % (name, replicated["name"], index, spec["spec"]["network"]["subdomain"])
            trainer, job = {}, replicated["template"]
            self.count = job["spec"]["completions"]
        else:
            trainer, job = {}, spec
            self.count = job["spec"]["completions"]
            subdomain = job["spec"]["template"]["spec"]["subdomain"]
            service = objects["Service"]
            assert service["metadata"]["name"] == subdomain and service["spec"]["clusterIP"] == "None"
            assert service["spec"]["selector"] == {"batch.kubernetes.io/job-name": name}
            self.host = lambda index: "%s-%d.%s" % (name, index, subdomain)
        pod = job["spec"]["template"]["spec"]
        [self.container] = pod["containers"]
        self.container.update(trainer)
        [mount], [volume] = self.container["volumeMounts"], pod["volumes"]
        assert mount["name"] == volume["name"]
        self.mount = mount["mountPath"]

    def start(self, index, folder):
        container = self.container
        environment = {"PATH": os.environ["PATH"], "HOSTNAME": self.host(index).split(".")[0],
                       "KUBERNETES_SERVICE_HOST": "10.96.0.1", "JOB_COMPLETION_INDEX": index, **self.environment(index)}
        for variable in container["env"]:
            environment[variable["name"]] = variable.get("value", "of " + str(variable.get("valueFrom")))
        words = [re.sub("^" + self.mount + "/", folder + "/", word) for word in container["command"] + container["args"]]
        return subprocess.Popen(words, env={name: str(value) for name, value in environment.items()}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def run(path, folder):
    if "DGC_TEST_NETWORK" not in os.environ:
        user = [] if os.getuid() == 0 else ["--map-root-user"]
        sys.exit(subprocess.run(["unshare", *user, "--net", "--mount", sys.executable, *sys.argv],
                                env=dict(os.environ, DGC_TEST_NETWORK="1"), check=False).returncode)
    pods = Pods(path)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with open(folder + "/hosts", "w", encoding="utf-8") as hosts:
        for index in range(pods.count):
            subprocess.run(["ip", "address", "add", "10.77.1.%d/24" % (index + 1), "dev", "lo"], check=True)
            hosts.write("10.77.1.%d %s\n" % (index + 1, pods.host(index)))
    subprocess.run(["mount", "--bind", folder + "/hosts", "/etc/hosts"], check=True)
    started = [pods.start(index, folder) for index in range(pods.count)]
    for index, process in enumerate(started):
        print("pod", index, process.communicate()[0].replace(folder, "FOLDER"), end="")
        print("code", process.returncode)


if sys.argv[1] == "run":
    run(*sys.argv[2:])
else:
    schema = Schema(sys.argv[2])
    for path in sys.argv[3:]:
        print("%s: %d objects" % (os.path.basename(path), schema.check(path)))
    print("\n".join(schema.errors))
    sys.exit(1 if schema.errors else 0)
