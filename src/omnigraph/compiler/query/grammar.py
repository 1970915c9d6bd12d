"""The grammar of one query, as an LALR(1) grammar for Lark over the tokens of `tokens.py`.

Words are never reserved: each place lists the words that may be names there. A clause that begins
with a bare variable and a word (`$a contains $b`, `$a in $b`) is a traversal, as in the first version
of the language, whose parser tried traversals first; the `lead` rules add the filters that cannot be
one. Where the table has a choice between shifting and reducing, shifting is the right one.
"""

from __future__ import annotations

from omnigraph.compiler.query.tokens import SPELLING, WORDS

_OPERATOR_WORDS = ("TEXT_OPERATOR", "IN", "IS")


def _words(*without: str) -> str:
    """Return the alternatives for a name: any word except the given ones."""
    return " | ".join(["IDENT", *sorted(WORDS.keys() - set(without))])


GRAMMAR = f"""
query: QUERY name LPAR [param (COMMA param)*] RPAR note* LBRACE (read | write) RBRACE
note: NOTE LPAR STRING RPAR
param: VAR COLON TYPE [QMARK]                       -> scalar_param
     | VAR COLON TYPE LPAR INT RPAR [QMARK]         -> vector_param
     | VAR COLON LSQB TYPE RSQB [QMARK]             -> list_param

read: match returns [order] page*
match: MATCH LBRACE clause+ RBRACE
returns: RETURN [DISTINCT] LBRACE proj+ RBRACE
order: ORDER LBRACE ordering (COMMA ordering)* RBRACE
page: PAGE (INT | VAR)

clause: NOT LBRACE clause+ RBRACE                   -> negation
      | OPTIONAL LBRACE clause+ RBRACE              -> optional_block
      | VAR COLON TYPE (PIPE TYPE)* [LBRACE pmatch (COMMA pmatch)* [COMMA] RBRACE] -> binding
      | VAR plain_edge (PIPE edge_name)* [bounds] VAR [AS VAR] -> traversal
      | VAR (TEXT_OPERATOR | IN | IS) (PIPE edge_name)* [bounds] VAR [AS VAR] -> traversal
      | VAR LT edge_name (PIPE edge_name)* GT [bounds] VAR [AS VAR] -> undirected
      | VAR VAR COLON edge_name (PIPE edge_name)* [bounds] VAR [AS VAR] -> edge_traversal
      | VAR VAR COLON LT edge_name (PIPE edge_name)* GT [bounds] VAR [AS VAR] -> undirected_edge
      | condition                                   -> filter
      | lead                                        -> filter
pmatch: name COLON value
bounds: LBRACE INT COMMA [INT] RBRACE

condition: conjunction (OR conjunction)*            -> disjunction
conjunction: unary (AND unary)*
?unary: NOT unary                                   -> inverse
      | atom
?atom: LPAR condition RPAR                          -> group
     | comparison
     | text_call
comparison: expr (COMPARATOR | LT | GT | TEXT_OPERATOR) expr
          | expr IN (list | variable | property)
          | expr IS NULL                            -> null_test
          | expr IS NOT NULL                        -> null_test

lead: lead_conjunction (OR conjunction)*            -> disjunction
lead_conjunction: lead_comparison (AND unary)*      -> conjunction
lead_comparison: VAR LT expr                       -> lead_comparison
               | VAR TEXT_OPERATOR other            -> lead_comparison
               | VAR (TEXT_OPERATOR | IN) VAR DOT name -> lead_property
               | VAR IN list                        -> lead_comparison
               | VAR IS NULL                        -> lead_null_test
               | VAR IS NOT NULL                    -> lead_null_test

proj: expr [AS name] [COMMA]
ordering: nearest                                   -> nearest_ordering
        | sortable [DIRECTION]
?sortable: variable | property | constant | ranking | entity_call | any_alias

?expr: variable | property | other
?other: constant | nearest | ranking | entity_call | null | alias
?constant: literal | now | aggregate
?ranking: text_call | bm25 | rrf
variable: VAR
property: VAR DOT name
alias: IDENT | UPSERT
any_alias: {_words("BOOL")}
now: NOW LPAR RPAR
entity_call: IDENT LPAR VAR RPAR
nearest: NEAREST LPAR property COMMA expr RPAR
text_call: TEXT_CALL LPAR expr COMMA expr [COMMA expr] RPAR
bm25: BM25 LPAR expr COMMA expr RPAR
rrf: RRF LPAR (nearest | bm25) COMMA (nearest | bm25) [COMMA expr] RPAR
aggregate: AGGREGATE LPAR [DISTINCT] expr RPAR

write: statement+
statement: INSERT TYPE LBRACE assignment+ RBRACE    -> insert
         | UPDATE TYPE SET LBRACE assignment+ RBRACE WHERE predicate -> update
         | UPSERT TYPE LBRACE assignment+ RBRACE    -> upsert
         | DELETE TYPE WHERE predicate              -> delete
assignment: name COLON value [COMMA]
predicate: predicate_and (OR predicate_and)*        -> disjunction
predicate_and: predicate_unary (AND predicate_unary)* -> conjunction
?predicate_unary: NOT predicate_unary               -> inverse
                | predicate_atom
?predicate_atom: LPAR predicate RPAR                -> group
               | field (COMPARATOR | LT | GT) value -> comparison
               | not_field (COMPARATOR | LT | GT) value -> comparison
               | field IN (list | variable)         -> comparison
               | field IS NULL                      -> null_test
               | field IS NOT NULL                  -> null_test
field: {_words("NOT")}
not_field: NOT                                      -> field

?value: literal | null | variable | now
?literal: list | moment | string | float | int | bool
list: LSQB [element (COMMA element)*] RSQB
?element: literal | null
moment: MOMENT LPAR STRING RPAR
string: STRING
float: [MINUS] FLOAT
int: [MINUS] INT
bool: BOOL
null: NULL

name: {_words()}
edge_name: {_words("NOT")}
plain_edge: {_words("NOT", *_OPERATOR_WORDS)}

%declare IDENT VAR TYPE FLOAT INT STRING NOTE {" ".join(sorted(WORDS))}
%declare {" ".join(sorted(SPELLING))}
"""
