var i = 10, o = { p: 1, q: [2], get: 3, set: function set(a) { return a } }
label: { if (i) break label; else i = 0 }
for (var k in o) { if (k == 'q') continue; print(k) }
for (var j = 0, n = 3; j < n; j++) ;
while (i --> 5) if (i & 1) continue; else print(i)
switch (i) { case 1: default: i++; case 2: { break } case "3": }
function empty() {}
function returns(a, b, c) { if (a) return; return b ? c : (a, b) }
o.p.q = o["p"]; o.set(1)(2)[3].four; new Date; new Date(1).getTime()
"a" + 1 + /re\/x[/]/.test('y') + 'it\'s'
