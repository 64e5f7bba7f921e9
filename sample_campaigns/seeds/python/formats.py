def show(a, b=None, *c, d=1, **e):
    print("%s %d" % (a, b))
    print("%(x)s %(y).2f" % {"x": a, "y": d})
    print("{0} {1!r} {}".format(a, b))
    print("{a} {b[0]}".format(a=a, **e))
    print(f"{a!s:>{d}} {{}}", "{", "}")
    if a == 1 or a is 1 or (a, b):
        raise NotImplemented
    x = {"k": 1, "k": 2, 1: 3}
    x, y, *z = c
    assert (a, "never fails")
    try:
        unused = a
    except Exception as err:
        pass
    return locals()


class A:
    def f(self): return __class__
    def f(self): return self.g
    g = h = undefined_name
