/* After #line, lines are counted from the number that it gives. */
#line 100
BEGIN { x = ; }
