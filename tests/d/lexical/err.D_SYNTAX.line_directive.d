/* After #line the lines are counted from its number. */
#line 100
BEGIN { x = ; }
