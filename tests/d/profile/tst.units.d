/*
 * The units of a tick have short and long names.
 * @flags: -q
 */
tick-1000000ns { a++; }
tick-1000000nsec { b++; }
tick-1000us { c++; }
tick-1000usec { d++; }
tick-1ms { e++; }
tick-1msec { f++; }
tick-500hz { g++; }
tick-500 { h++; }
tick-100ms
{
	printf("%d%d%d%d%d%d%d%d\n", a > 0, b > 0, c > 0, d > 0, e > 0, f > 0, g > 0,
	    h > 0);
	exit(0);
}
