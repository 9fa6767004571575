/* Each index of an array must be in its own brackets. */
int a[5];
BEGIN { a[1, 2] = 1; }
