function attempt(f, times) {
    var left = times | 0;
    while (left--) {
        try {
            return f(left);
        } catch (e) {
            if (e instanceof TypeError) throw e;
            try { print('failed: ' + e.message); } finally { left -= 0; }
        } finally {
            print(left);
        }
    }
    throw { name: 'gave up', after: times };
}
try {
    attempt(function (n) { if (n % 2) throw new Error("odd"); return n; }, 3);
} catch (gone) { debugger; }
