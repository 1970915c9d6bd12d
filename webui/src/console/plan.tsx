/** The plan of a query as a tree, with rows and times. */

import type { Explanation, PlanStep } from "../api/shapes";
import { tellBytes, tellCount, tellMilliseconds, tellNumber } from "../lib/formats";

export function Plan({ plan }: { plan: Explanation }) {
  const { explanation } = plan;
  const most = Math.max(0.001, ...flatten(explanation.tree).map((step) => step.milliseconds ?? 0));
  return (
    <div className="panel">
      <p className="quiet">
        {explanation.rows !== null && `${tellCount(explanation.rows, "row")} `}
        {explanation.milliseconds !== null && `in ${tellMilliseconds(explanation.milliseconds)} `}
        {explanation.choice && `on ${explanation.choice.engine}: ${explanation.choice.reason}`}
      </p>
      <ol className="plan">
        {explanation.tree.map((step, at) => (
          <Step key={at} step={step} most={most} />
        ))}
      </ol>
    </div>
  );
}

function flatten(steps: PlanStep[]): PlanStep[] {
  return steps.flatMap((step) => [step, ...flatten(step.children)]);
}

function Step({ step, most }: { step: PlanStep; most: number }) {
  return (
    <li>
      <div className="step">
        <span className="what">
          <bdi>{step.text}</bdi>
          {step.path && (
            <span className="quiet">
              {" "}
              {step.path}
              {step.why && `: ${step.why}`}
            </span>
          )}
        </span>
        <span className="numbers">
          {step.rows !== null && tellCount(step.rows, "row")}
          {step.estimated_rows !== null && <span className="quiet"> (about {tellNumber(Math.round(step.estimated_rows))})</span>}
        </span>
        <span className="numbers">
          {step.milliseconds !== null && (
            <>
              <meter min={0} max={most} value={step.milliseconds} aria-label={`Time of ${step.text}`} />
              {tellMilliseconds(step.milliseconds)}
            </>
          )}
          {step.bytes > 0 && <span className="quiet"> {tellBytes(step.bytes)}</span>}
        </span>
      </div>
      {step.children.length > 0 && (
        <ol>
          {step.children.map((child, at) => (
            <Step key={at} step={child} most={most} />
          ))}
        </ol>
      )}
    </li>
  );
}
