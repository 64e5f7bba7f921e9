#ifndef _MATH_H
#define _MATH_H
#define M_PI 3.14159265358979323846
#define HUGE_VAL (1.0 / 0.0)
double sin(double), cos(double), tan(double), asin(double), acos(double), atan(double);
double sinh(double), cosh(double), tanh(double);
double exp(double), log(double), log10(double), sqrt(double), fabs(double);
double floor(double), ceil(double), pow(double, double), fmod(double, double);
float fabsf(float), sqrtf(float);
#endif
