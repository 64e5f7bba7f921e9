/* Counts words, and prints the most frequent. */
var text = 'the cat \x41nd the \u0064og\tand the\
 bird\n', counts = {}, list = [], i, w;
var words = text.split(/[^a-z]+/gi);
for (i = 0; i < words.length; ++i) {
    w = words[i].toLowerCase();
    if (!w) continue;
    counts[w] = (counts[w] || 0) + 1;
}
for (var word in counts)
    if (counts.hasOwnProperty(word)) list.push([word, counts[word]]);
list.sort(function (a, b) { return b[1] - a[1] || (a[0] < b[0] ? -1 : 1); });
do { print(list.shift().join(': ')); } while (list.length > 0);
