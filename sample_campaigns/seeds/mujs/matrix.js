var rows = [[1, 2, 3], [4, 5, 6], [7, , 9,]], total = 0, r, c;
for (r = 0; r < rows.length; r++) {
    row: for (c = 0; ; c++) {
        if (c >= rows[r].length) break row;
        if (rows[r][c] === undefined) continue;
        total += rows[r][c];
    }
}
function transpose(m) {
    return m[0].map(function (_, i) { return m.map(function (row) { return row[i]; }); });
}
with (Math) { total = max(floor(total / 2), abs(-3)); }
var empty = {}, none = null, yes = true, no = false, list = [];;
