/* A variable declared without a type is an int. */
this part;
BEGIN { this->part = "text"; }
