function write(value, indent) {
    switch (typeof value) {
    case "string": return '"' + value.replace(/["\\]/g, "\\$&") + '"';
    case "number": case "boolean": return String(value);
    case "object":
        if (value === null) return "null";
        var parts = [], key;
        if (value instanceof Array) {
            for (key = 0; key < value.length; key++) parts.push(write(value[key], indent + 1));
            return "[" + parts.join(",") + "]";
        }
        for (key in value) parts.push(write(key) + ":" + write(value[key], indent + 1));
        return "{" + parts + "}";
    }
}
print(write({ a: [1, -2.5, "x\ty"], "b c": { d: null, if: true } }, 0));
