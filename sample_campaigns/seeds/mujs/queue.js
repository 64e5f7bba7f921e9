// A queue with priorities, as a binary heap.
function Queue(less) {
    this.items = [];
    this.less = less || function (a, b) { return a < b; };
}
Queue.prototype.push = function push(item) {
    var at = this.items.length, up;
    this.items.push(item);
    while (at > 0 && this.less(item, this.items[up = (at - 1) >> 1])) {
        this.items[at] = this.items[up];
        at = up;
    }
    this.items[at] = item;
    return this;
};
Queue.prototype.pop = function () {
    if (!this.items.length) return undefined;
    var top = this.items[0], last = this.items.pop(), at = 0, n = this.items.length;
    if (n === 0) return top;
    for (;;) {
        var child = 2 * at + 1;
        if (child >= n) break;
        if (child + 1 < n && this.less(this.items[child + 1], this.items[child])) child++;
        if (!this.less(this.items[child], last)) break;
        this.items[at] = this.items[child];
        at = child;
    }
    this.items[at] = last;
    return top;
};
var q = new Queue();
[5, 3, 8, 1].forEach(function (x) { q.push(x); });
print(q.pop(), q.pop());
