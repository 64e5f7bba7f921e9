match($0, /"[^"]*"/) { print substr($0, RSTART + 1, RLENGTH - 2); $0 = toupper($0) }
{ $2 = ""; print sprintf("%d:%s", NR, $0) >> FILENAME ".out" }
