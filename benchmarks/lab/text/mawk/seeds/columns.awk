BEGIN { FS = ","; OFS = "\t" }
NR > 1 && $3 != "" {
    sum += $3; n++
    printf "%-10s %5.2f\n", $1, $3
}
END { if (n) print "mean", sum / n; else print "nothing" > "/dev/stderr" }
