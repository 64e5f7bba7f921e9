{
    n = split($0, part, /[ ,;]+/)
    while (n > 0) {
        if (part[n] == "") { n--; continue }
        gsub(/a|b*/, "<&>", part[n]); s = s substr(part[n--], 1, 3)
    }
    delete part; print length(s), index(s, "x")
}
