try error("no") catch . | if . == "no" then "a" elif false then empty else .. | select(type == "number") end
