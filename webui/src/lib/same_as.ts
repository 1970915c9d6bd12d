/** Rules that find duplicates, as they stand in an address: `Person.mail,name;Firm.tax_id`. */

export interface SameRule {
  type: string;
  on: string[];
}

export function readRules(text: string | undefined): SameRule[] {
  const rules: SameRule[] = [];
  for (const part of (text ?? "").split(";")) {
    const [type, names] = part.split(".");
    const on = (names ?? "").split(",").filter((name) => name !== "");
    if (type && on.length > 0) rules.push({ type, on });
  }
  return rules;
}

export function writeRules(rules: SameRule[]): string {
  return rules.map((rule) => `${rule.type}.${rule.on.join(",")}`).join(";");
}

/** Rules with one more; a type has one of each kind. */
export function addRule(rules: SameRule[], rule: SameRule): SameRule[] {
  const told = writeRules([rule]);
  return rules.some((known) => writeRules([known]) === told) ? rules : [...rules, rule];
}
