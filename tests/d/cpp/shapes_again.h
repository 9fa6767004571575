struct point { long x; };
