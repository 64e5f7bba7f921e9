var counter = (function () {
    var n = 0;
    return { next: function next() { return ++n; }, reset: function () { n = 0; } };
})();
function compose() {
    var fs = arguments;
    return function (x) {
        for (var i = fs.length - 1; i >= 0; i--) x = fs[i].call(this, x);
        return x;
    };
}
var twice = function f(x) { return x < 100 ? f(x * 2) : x; };
counter.next();
new (compose(twice, function (x) { return x + 1; }))(counter.next());
var fib = function (n) { return n < 2 ? n : arguments.callee(n - 1) + arguments.callee(n - 2) };
