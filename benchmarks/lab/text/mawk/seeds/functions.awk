function max(a, b) { return a > b ? a : b }
function fib(n) {
    if (n < 2) return n
    return fib(n - 1) + fib(n - 2)
}
BEGIN { print max(fib(10), 2 ^ 5 % 7) }
