(reduce .[] as $x (0; . + $x * 2)) as $sum | [$sum, length, -1.5e3]
