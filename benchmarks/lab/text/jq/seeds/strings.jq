.title as $t | "\($t): \(.tags | map("\(.)-") | add)" + @base64 "x\(.id)"
