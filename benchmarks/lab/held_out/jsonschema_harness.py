"""jsonschema: a schema and a document from choices; all errors of the document are listed."""

import jsonschema

NAMES = ["a", "b", "c", "aa"]
TEXTS = ["", "a", "ab", "1", "2024-02-29", "::1", "127.0.0.1", "x@y", "é"]
PATTERNS = ["^a", "b$", "[0-9]+", "^.{2}$"]
FORMATS = ["date", "ipv4", "ipv6", "email", "regex", "time"]
TYPES = ["string", "integer", "number", "boolean", "null", "array", "object"]
NESTED = ["items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else",
          "unevaluatedItems", "unevaluatedProperties"]  # fmt: skip
DRAFTS = {
    "3": jsonschema.Draft3Validator,
    "4": jsonschema.Draft4Validator,
    "6": jsonschema.Draft6Validator,
    "7": jsonschema.Draft7Validator,
    "2019": jsonschema.Draft201909Validator,
    "2020": jsonschema.Draft202012Validator,
}


def validate(case) -> list[object]:
    draft, schema, document = case
    validator = DRAFTS[draft]
    validator.check_schema(schema)
    checker = validator(schema, format_checker=validator.FORMAT_CHECKER)
    errors = sorted(
        checker.iter_errors(document), key=lambda e: (list(map(str, e.path)), e.message)
    )
    found = [(e.message, e.validator, list(e.absolute_schema_path)) for e in errors]
    tree = jsonschema.ErrorTree(errors)
    return [
        found,
        tree.total_errors,
        getattr(jsonschema.exceptions.best_match(errors), "message", ""),
    ]


def case(r):
    draft = r.choose(list(DRAFTS))
    made = schema(r, 3)
    if isinstance(made, dict):
        made["definitions"] = {"d": schema(r, 1)}
    return draft, made, document(r, 3)


def schema(r, depth: int):
    if r.below(16) == 0:
        return r.choose([True, False])
    made: dict[str, object] = {}
    for _ in r.more(0, 5, continues=0.6):
        name, value = keyword(r, depth)
        made[name] = value
    return made


def keyword(r, depth: int):
    kind = r.below(14 if depth else 8)
    match kind:
        case 0:
            return "type", r.choose([*TYPES, ["string", "null"]])
        case 1:
            return r.choose(["minimum", "maximum", "multipleOf", "exclusiveMinimum"]), r.integer(
                -2, 9
            )
        case 2:
            return r.choose(["minLength", "maxLength", "minItems", "maxItems"]), r.integer(0, 4)
        case 3:
            return r.choose(["minProperties", "maxProperties"]), r.integer(0, 3)
        case 4:
            return r.choose([("pattern", r.choose(PATTERNS)), ("format", r.choose(FORMATS))])
        case 5:
            return r.choose([("uniqueItems", True), ("required", [r.choose(NAMES)])])
        case 6:
            return "const", document(r, 1)
        case 7:
            return "$ref", r.choose(["#/definitions/d", "#"])
        case 8:
            return "enum", [document(r, 1) for _ in r.more(1, 3)]
        case 9:
            return r.choose(["properties", "dependentSchemas"]), members(r, depth)
        case 10:
            return "patternProperties", {r.choose(PATTERNS): schema(r, depth - 1)}
        case 11:
            name = r.choose(NESTED)
            return name, schema(r, depth - 1)
        case 12:
            many = [schema(r, depth - 1) for _ in r.more(1, 3)]
            return r.choose(["allOf", "anyOf", "oneOf", "prefixItems", "items"]), many
        case _:
            return r.choose(["dependencies", "dependentRequired"]), {
                r.choose(NAMES): [r.choose(NAMES)]
            }


def members(r, depth: int):
    return {r.choose(NAMES): schema(r, depth - 1) for _ in r.more(0, 3)}


def document(r, depth: int):
    match r.below(7 if depth else 5):
        case 0:
            return r.choose(TEXTS)
        case 1:
            return r.integer(-2, 9)
        case 2:
            return r.choose([0.5, 2.0, 1e300])
        case 3:
            return r.choose([True, False])
        case 4:
            return None
        case 5:
            return [document(r, depth - 1) for _ in r.more(0, 4)]
        case _:
            return {r.choose(NAMES): document(r, depth - 1) for _ in r.more(0, 4)}
