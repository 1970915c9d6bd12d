"""The grammar of one query, as an LALR(1) grammar for Lark over the tokens of `tokens.py`.

Words are never reserved: each place lists the words that may be names there. A clause that begins
with a bare variable and a word (`$a contains $b`, `$a in $b`) is a traversal, as in the first version
of the language, whose parser tried traversals first; the `lead` rules add the filters that cannot be
one. Where the table has a choice between shifting and reducing, shifting is the right one.

A chain of operators is one rule, since every level of precedence would cost a step for every operand;
`build_expressions` applies precedence. The rules for what a mutation computes are their own, since a bare
word is a property there, whatever else it means.
"""

from __future__ import annotations

from omnigraph.compiler.query.tokens import SPELLING, WORDS

_OPERATOR_WORDS = ("TEXT_OPERATOR", "IN", "IS")


def _words(*without: str) -> str:
    """Return the alternatives for a name: any word except the given ones."""
    return " | ".join(sorted({"IDENT", *WORDS} - set(without)))


_LATE_WORDS = ("UPSERT", "HAVING", "WITH", "UNION", "EXISTS", "SHORTEST")
"""Words that came late, and are the names of columns wherever one may stand."""
_ALIASES = " | ".join(_LATE_WORDS)
_ARITHMETIC = "PLUS | MINUS | STAR | SLASH | PERCENT"

GRAMMAR = f"""
query: QUERY name LPAR [param (COMMA param)*] RPAR note* LBRACE (read | write) RBRACE
note: NOTE LPAR STRING RPAR
param: VAR COLON TYPE [QMARK]                       -> scalar_param
     | VAR COLON TYPE LPAR INT RPAR [QMARK]         -> vector_param
     | VAR COLON LSQB TYPE RSQB [QMARK]             -> list_param

read: part (union part)* [order] page*
part: match stage* returns [having]
union: UNION [IDENT]
stage: WITH [DISTINCT] LBRACE with_item+ RBRACE [having] [order] page* [match]
with_item: expr [AS VAR] [COMMA]
match: MATCH [DISTINCT IDENT] LBRACE clause+ RBRACE
returns: RETURN [DISTINCT] LBRACE proj+ RBRACE
having: HAVING LBRACE condition (COMMA condition)* [COMMA] RBRACE
order: ORDER LBRACE ordering (COMMA ordering)* RBRACE
page: PAGE (INT | VAR)

clause: NOT LBRACE clause+ RBRACE                   -> negation
      | OPTIONAL LBRACE clause+ RBRACE              -> optional_block
      | VAR COLON TYPE (PIPE TYPE)* [LBRACE pmatch (COMMA pmatch)* [COMMA] RBRACE] -> binding
      | VAR plain_edge (PIPE edge_name)* [bounds] VAR [found] -> traversal
      | VAR (TEXT_OPERATOR | IN | IS) (PIPE edge_name)* [bounds] VAR [found] -> traversal
      | VAR LT edge_name (PIPE edge_name)* GT [bounds] VAR [found] -> undirected
      | VAR VAR COLON edge_name (PIPE edge_name)* [bounds] VAR [found] -> edge_traversal
      | VAR VAR COLON LT edge_name (PIPE edge_name)* GT [bounds] VAR [found] -> undirected_edge
      | condition                                   -> filter
      | lead                                        -> filter
pmatch: name COLON value
bounds: LBRACE INT COMMA [INT] RBRACE
found: AS VAR                                       -> path_length
     | AS IDENT VAR                                 -> path
     | SHORTEST [INT] [IDENT name] AS IDENT VAR     -> shortest

condition: conjunction (OR conjunction)*            -> disjunction
conjunction: unary (AND unary)*
?unary: NOT unary                                   -> inverse
      | expr                                        -> truth
      | expr (COMPARATOR | LT | GT | TEXT_OPERATOR | IN) expr -> comparison
      | expr IS NULL                                -> null_test
      | expr IS NOT NULL                            -> null_test

?expr: operand
     | operand (({_ARITHMETIC}) operand)+           -> chain
?operand: other | read_variable
        | MINUS operand                             -> negative
        | operand INDEX expr RSQB                   -> index
?read_variable: VAR                                 -> variable
              | VAR DOT name                        -> property
?other: scalar | list | null | now | alias | group | call | case | block_value | list_test
      | aggregate | text_call | nearest | bm25 | rrf
list: LSQB [expr (COMMA expr)*] RSQB
group: LPAR condition RPAR
call: IDENT LPAR [expr (COMMA expr)*] RPAR
block_value: EXISTS LBRACE clause+ RBRACE
           | AGGREGATE LBRACE clause+ RBRACE
list_test: IDENT LPAR VAR IN expr WHERE condition RPAR
case: CASE branch+ [ELSE expr] END
branch: WHEN condition THEN expr

lead: lead_conjunction (OR conjunction)*            -> disjunction
lead_conjunction: lead_comparison (AND unary)*      -> conjunction
lead_comparison: VAR LT expr                        -> lead_comparison
               | VAR (TEXT_OPERATOR | IN) lead_expr -> lead_comparison
               | VAR (TEXT_OPERATOR | IN) VAR DOT name -> lead_property
               | VAR IS NULL                        -> lead_null_test
               | VAR IS NOT NULL                    -> lead_null_test
?lead_expr: lead_operand
          | lead_operand (({_ARITHMETIC}) operand)+ -> chain
?lead_operand: other
             | MINUS operand                        -> negative
             | lead_operand INDEX expr RSQB         -> index

proj: expr [AS name] [COMMA]
    | VAR DOT STAR [COMMA]                           -> all_properties
ordering: expr [DIRECTION]
        | any_alias [DIRECTION]
alias: IDENT | {_ALIASES}
any_alias: {_words("BOOL", "NULL", "IDENT", *_LATE_WORDS)}
now: NOW LPAR RPAR
nearest: NEAREST LPAR VAR DOT name COMMA expr RPAR
text_call: TEXT_CALL LPAR expr COMMA expr [COMMA expr] RPAR
bm25: BM25 LPAR expr COMMA expr RPAR
rrf: RRF LPAR (nearest | bm25) COMMA (nearest | bm25) [COMMA expr] RPAR
aggregate: AGGREGATE LPAR [DISTINCT] expr RPAR
         | AGGREGATE LPAR STAR RPAR                 -> count_rows

write: [match] statement+
statement: INSERT TYPE LBRACE assignment+ RBRACE    -> insert
         | UPDATE TYPE SET LBRACE assignment+ RBRACE WHERE predicate -> update
         | UPSERT TYPE LBRACE assignment+ RBRACE    -> upsert
         | DELETE TYPE WHERE predicate              -> delete
         | UPDATE VAR SET LBRACE assignment+ RBRACE -> update_matched
         | DELETE VAR                               -> delete_matched
assignment: name COLON row_expr [COMMA]
predicate: predicate_and (OR predicate_and)*        -> disjunction
predicate_and: predicate_unary (AND predicate_unary)* -> conjunction
?predicate_unary: NOT predicate_unary               -> inverse
                | row_expr                          -> truth
                | row_expr (COMPARATOR | LT | GT | TEXT_OPERATOR | IN) row_expr -> row_comparison
                | not_field (COMPARATOR | LT | GT) row_expr -> row_comparison
                | row_expr IS NULL                  -> row_null_test
                | row_expr IS NOT NULL              -> row_null_test
?row_expr: row_operand
         | row_operand (({_ARITHMETIC}) row_operand)+ -> chain
?row_operand: scalar | row_list | null | now | field | read_variable
            | LPAR predicate RPAR                   -> group
            | IDENT LPAR [row_expr (COMMA row_expr)*] RPAR -> call
            | IDENT LPAR VAR IN row_expr WHERE predicate RPAR -> list_test
            | CASE row_branch+ [ELSE row_expr] END  -> case
            | MINUS row_operand                     -> negative
            | row_operand INDEX row_expr RSQB       -> index
row_list: LSQB [row_expr (COMMA row_expr)*] RSQB -> list
row_branch: WHEN predicate THEN row_expr            -> branch
field: {_words("NOT", "BOOL", "NULL")}
not_field: NOT                                      -> field

?value: scalar | given_list | null | variable | now
variable: VAR
?scalar: moment | string | float | int | bool
given_list: LSQB [element (COMMA element)*] RSQB -> list
?element: scalar | given_list | null
moment: MOMENT LPAR STRING RPAR
string: STRING
float: [SIGN] FLOAT
int: [SIGN] INT
bool: BOOL
null: NULL

name: {_words()}
edge_name: {_words("NOT")}
plain_edge: {_words("NOT", *_OPERATOR_WORDS)}

%declare IDENT VAR TYPE FLOAT INT STRING NOTE {" ".join(sorted(WORDS))}
%declare {" ".join(sorted(SPELLING))}
"""
