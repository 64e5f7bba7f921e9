. as [$a, {b: $c, $d}] | foreach (1, 2) as $i ({}; .x = $i; [$a, $c, .x]) # state
