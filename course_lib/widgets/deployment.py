"""explore_deployment: what a model costs in use, with every assumption a control and the energy a range."""

from course_lib.costs import deployment
from course_lib.widgets.view import Control, View, source

WATTS = [1, 2, 5, 10, 20, 50, 100, 200, 300, 500, 700, 1000]


class DeploymentView(View):
    """Nothing here is measured but the speed that it is given; the rest is arithmetic on assumptions."""

    _esm = source("keys.js", "family.js", "controls.js", "deployment.js")
    parameters = Control()
    requests_per_day = Control()
    tokens_per_request = Control()
    days = Control()
    flops_per_second = Control()
    watts_low = Control()
    watts_high = Control()
    overhead = Control()

    def __init__(self, measured):
        limits = {
            "parameters": [10**7, 135 * 10**6, 10**9, 7 * 10**9, 70 * 10**9, 400 * 10**9],
            "requests_per_day": [10**power for power in range(2, 10)],
            "tokens_per_request": [50, 200, 500, 1000, 4000, 16000],
            "days": [1, 7, 30, 365],
            "flops_per_second": sorted({measured, 10**11, 10**12, 10**13, 10**14, 10**15}),
            "watts_low": WATTS,
            "watts_high": WATTS,
            "overhead": {"min": 1.0, "max": 3.0, "step": 0.1},
        }
        self.measured = measured
        super().__init__(limits, parameters=135 * 10**6, requests_per_day=10**4, tokens_per_request=500, days=365,
                         flops_per_second=measured, watts_low=5, watts_high=20, overhead=1.5)  # fmt: skip

    def compute(self):
        plan = deployment(
            parameters=self.parameters,
            requests_per_day=self.requests_per_day,
            tokens_per_request=self.tokens_per_request,
            days=self.days,
            flops_per_second=self.flops_per_second,
            watts=(self.watts_low, self.watts_high),
            overhead=self.overhead,
        )
        answers, (low, high) = self.requests_per_day * self.days, plan["kWh"]
        rows = [
            ["operations", f"{plan['operations']:.1e}"],
            ["processor time, days", in_digits(plan["processor seconds"] / 86400)],
            ["processors busy around the clock", in_digits(plan["processor seconds"] / 86400 / self.days)],
            ["energy of all answers, kWh", f"{in_digits(low)} to {in_digits(high)}"],
            ["energy of one answer, Wh", f"{in_digits(1000 * low / answers)} to {in_digits(1000 * high / answers)}"],
        ]
        speed = "measured here" if self.flops_per_second == self.measured else "assumed"
        return {"rows": rows, "speed": f"Operations a second: {speed}. Everything else: assumed."}

    def words(self):
        return "; ".join(f"{name}: {value}" for name, value in self.result["rows"]) + "."


def in_digits(number):
    """Two digits that count: 0.0031, 4.2, 1,900."""
    return f"{float(f'{number:.2g}'):,.10g}"


def explore_deployment(flops_per_second):
    """Choose a model, its use and its machine, and see operations, processors and a range of energy.

    flops_per_second: what one processor here gets done, as you measured it; it stands among the choices. Returns a
    widget with the traits parameters, requests_per_day, tokens_per_request, days, flops_per_second, watts_low,
    watts_high and overhead (what cooling and idle machines multiply the energy by).
    """
    if not flops_per_second > 0:
        raise ValueError(f"flops_per_second must be above 0; got {flops_per_second!r}")
    return DeploymentView(round(flops_per_second))
