trap 'rm -f "$tmp"' EXIT INT
tmp=$(mktemp) || exit
( cd / && { ls; pwd; } ) >"$tmp" 2>&1
eval "x_$1=\${y:=\"a b\"}"
printf '%s\n' "$(cat "$tmp")" | sed -e 's/a/b/' \
    -e "s/$tmp//"
exec 3<&0 4>&- <<'E'
$not expanded
E
