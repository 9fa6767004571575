/* A variable declared without a type is an int, so it cannot contain a string. */
this part;
BEGIN { this->part = "text"; }
