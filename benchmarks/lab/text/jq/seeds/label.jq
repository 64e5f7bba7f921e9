label $out | .[] | if . > 3 then ., break $out else not end | [range(0; 5)] | with_entries(.value |= tostring)
