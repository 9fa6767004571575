/* After #line, lines are counted from the number in the directive. */
#line 100
BEGIN { x = ; }
