def twice(f): f | f;
def add1($n): . + $n;
[.[] | twice(add1(3))] | map(. % 7)
