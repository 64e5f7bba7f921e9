BEGIN {
    do { lines++ } while ((getline line < ARGV[1]) > 0)
    close(ARGV[1])
    "date" | getline now
    x[1, 2] = -3.5e2; y = !x[1, 2] ++lines; exit y
}
