function Shape(name) { this.name = name; }
Shape.prototype = {
    constructor: Shape,
    get title() { return this.name.toUpperCase(); },
    set title(value) { this.name = value.toLowerCase(); },
    area: function () { return NaN; },
    "to string": function () { return this.name + ' of ' + this.area(); },
    42: true
};
function Circle(r) { Shape.call(this, 'circle'); this.r = r; }
Circle.prototype = Object.create(Shape.prototype);
Circle.prototype.area = function () { return Math.PI * this.r * this.r; };
var c = new Circle(2.5e0);
if (c instanceof Shape && 'r' in c && !(c.q)) c['to string']();
delete c.r;
void 0;
typeof c === 'object' ? c.title = "ROUND" : c.title;
