"""Makes the typed clients of the package from the server's OpenAPI documents.

module(document) returns the text of a module with a TypedDict for each schema and a class Client
with a method for each operation. The text needs Python's standard library alone, from version 3.9.
"""

import keyword
import re

HEAD = '''"""{title}, generated from the OpenAPI document of the server, version {version}.

Each schema is a TypedDict, and each operation is a method of Client. Times are texts in RFC 3339.
"""

from __future__ import annotations

import typing as t

from . import calls
from .calls import segment

'''


def snake(name):
    """Return a name such as prizeId or X-Staff-Pin as Python writes it: prize_id, staff_pin."""
    name = re.sub(r"^X-", "", name).replace("-", "_")
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()
    return name + "_" if keyword.iskeyword(name) else name


def line(text):
    """Return a description in one line that can stand in a docstring or a comment."""
    return " ".join(text.split()).replace("\\", "\\\\").replace('"""', "'''")


class Module:
    """The text of one module while it is made."""

    def __init__(self, document):
        self.document = document
        self.schemas = document["components"]["schemas"]
        self.classes = []  # texts
        self.aliases = []  # texts, which need the classes before them

    def type(self, schema, name):
        """Return the type of a schema. An object within another is a class that is called name."""
        if "$ref" in schema:
            return schema["$ref"].rsplit("/", 1)[1]
        if "const" in schema:
            return "t.Literal[%r]" % schema["const"]
        for key in ("oneOf", "anyOf"):
            if key in schema:
                return self.union([self.type(s, name + str(i)) for i, s in enumerate(schema[key], 1)])
        if "allOf" in schema:
            if len(schema["allOf"]) > 1:
                raise ValueError("%s: allOf with several schemas" % name)
            return self.type(schema["allOf"][0], name)
        if "enum" in schema:
            values = [repr(v) for v in schema["enum"] if v is not None]
            return self.union(["t.Literal[%s]" % ", ".join(values)] + ["None"] * (None in schema["enum"]))
        kinds = schema.get("type", "any")
        return self.union([self.kind(k, schema, name) for k in (kinds if isinstance(kinds, list) else [kinds])])

    def kind(self, kind, schema, name):
        """Return the type of a schema that has one of its kinds."""
        if kind == "array":
            return "t.List[%s]" % self.type(schema["items"], name + "Item")
        if kind == "object":
            if schema.get("properties"):
                self.object(name, schema)
                return name
            values = schema.get("additionalProperties")
            return "t.Dict[str, %s]" % (self.type(values, name + "Value") if isinstance(values, dict) else "t.Any")
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "any": "t.Any"}[kind]

    @staticmethod
    def union(types):
        """Return the type of a value of any of some types."""
        types = list(dict.fromkeys(types))
        if "t.Any" in types:
            return "t.Any"
        if len(types) > 1 and "None" in types:
            types.remove("None")
            return "t.Optional[%s]" % Module.union(types)
        return types[0] if len(types) == 1 else "t.Union[%s]" % ", ".join(types)

    def object(self, name, schema):
        """Add the class of an object. Its optional keys are in a class of their own that extends the other."""
        required = set(schema.get("required", []))
        parts = {True: [], False: []}  # by whether the key is required
        for key, value in schema["properties"].items():
            parts[key in required].append((key, self.type(value, name + "".join(w.title() for w in key.split("_"))), value))
        doc = line(schema.get("description", ""))
        if parts[True] and parts[False]:
            self.classes.append(self.typed_dict("_" + name, parts[True], "t.TypedDict", "", True))
            self.classes.append(self.typed_dict(name, parts[False], "_" + name, doc, False))
        else:
            self.classes.append(self.typed_dict(name, parts[True] or parts[False], "t.TypedDict", doc, bool(parts[True])))

    @staticmethod
    def typed_dict(name, fields, base, doc, total):
        """Return the text of a TypedDict."""
        if any(keyword.iskeyword(key) for key, _, _ in fields):  # which a class cannot have
            if base != "t.TypedDict":
                raise ValueError("%s: a keyword among its optional keys" % name)
            pairs = ", ".join('"%s": "%s"' % (key, kind.replace('"', "'")) for key, kind, _ in fields)
            return '%s = t.TypedDict("%s", {%s}%s)\n' % (name, name, pairs, "" if total else ", total=False")
        text = "class %s(%s%s):\n" % (name, base, "" if total else ", total=False")
        if doc:
            text += '    """%s"""\n\n' % doc
        for key, kind, value in fields:
            if value.get("description"):
                text += "    # %s\n" % line(value["description"])
            text += "    %s: %s\n" % (key, kind)
        return text

    def method(self, path, verb, operation, shared):
        """Return the text of the method of an operation."""
        name = operation["operationId"]
        title = name[0].upper() + name[1:]
        places, optional, query, headers = ["self"], [], [], []
        for p in shared + operation.get("parameters", []):
            kind, argument = self.type(p["schema"], title + p["name"].title().replace("-", "").replace("_", "")), snake(p["name"])
            if p["in"] == "path":
                places.append("%s: str" % argument)
                path = path.replace("{%s}" % p["name"], "{segment(%s)}" % argument)
                continue
            (query if p["in"] == "query" else headers).append('"%s": %s' % (p["name"], argument))
            if p.get("required"):
                places.append("%s: %s" % (argument, kind))
            else:
                optional.append("%s: %s = None" % (argument, self.union([kind, "None"])))
        sent = ""
        schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        if "$ref" in schema or schema.get("properties"):
            kind, sent = self.type(schema, title + "Body"), ", body=body"
            target = self.schemas.get(kind, schema)
            needed = target.get("required") or "oneOf" in target
            places.append("body: %s" % kind if needed else "body: t.Optional[%s] = None" % kind)
        elif verb == "post":
            sent = ", body={}"
        answer = "None"
        for status, response in operation["responses"].items():
            content = response.get("content", {}).get("application/json")
            if status.startswith("2") and content:
                answer = self.type(content["schema"], title + "Answer")
        for what, pairs in (("query", query), ("headers", headers)):
            if pairs:
                sent += ", %s={%s}" % (what, ", ".join(pairs))
        call = 'self.call("%s", f"%s"%s)' % (verb.upper(), path, sent)
        return '    def %s(%s) -> %s:\n        """%s"""\n        %s\n' % (
            snake(name), ", ".join(places + (["*"] if optional else []) + optional), answer, line(operation.get("summary") or name),
            call if answer == "None" else "return t.cast(%s, %s)" % (answer if "[" not in answer else '"%s"' % answer, call))

    def text(self):
        """Return the text of the whole module."""
        for name, schema in self.schemas.items():
            if schema.get("type") == "object" and schema.get("properties") and "oneOf" not in schema:
                self.object(name, schema)
            else:
                self.aliases.append((name, self.type(schema, name)))
        methods = []
        for path, item in self.document["paths"].items():
            for verb in ("get", "post", "put", "patch", "delete"):
                if verb in item:
                    methods.append(self.method(path, verb, item[verb], item.get("parameters", [])))
        client = 'class Client(calls.Caller):\n    """The operations. A refusal raises Error."""\n\n' + "\n".join(methods)
        info = self.document["info"]
        return "\n\n".join([HEAD.format(title=info["title"], version=info["version"])] + self.classes + self.ordered() + [client])

    def ordered(self):
        """Return the aliases, each after those that it names."""
        left, texts = dict(self.aliases), []
        while left:
            free = [n for n, kind in left.items() if not (set(re.findall(r"\w+", kind)) & set(left)) - {n}]
            for name in free:
                texts.append("%s = %s\n" % (name, left.pop(name)))
            if not free:
                raise ValueError("schemas that name each other: %s" % ", ".join(left))
        return texts


def module(document):
    """Return the text of the module for an OpenAPI document."""
    return Module(document).text()
