for file in *.c "$@"; do
    case $file in
        *.c|*.h) cc -c "$file" ;;
        [a-m]*) continue ;;
        *) break ;;
    esac
done
while read -r line; do
    set -- $line
    echo "${line%%:*}" "${#line}" "${1##*/}"
done <<END | sort -u
one:$(date)
two:`date`
END
until false; do shift; done &
wait
