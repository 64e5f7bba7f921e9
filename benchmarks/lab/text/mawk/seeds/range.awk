/begin/,/end/ { next }
$1 ~ /^[A-Za-z_][0-9a-z]*$/ || !($2 in seen) { seen[$2] = NR; print }
