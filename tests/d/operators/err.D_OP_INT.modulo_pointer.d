/* A pointer cannot be an operand of %. */
int *p;
BEGIN { x = p % 3; }
