"""What is compared, before there is any traffic: a deployment, its truth, and what is believed."""

from dataclasses import dataclass, replace

from ridgeline.costmodel.curve import Curve
from ridgeline.costmodel.table import Band, CutoffRow, CutoffTable
from ridgeline.policy.settings import PolicySettings, Prediction, Stabilization
from ridgeline.sim.compare.load_curve import LoadCurve
from ridgeline.sim.compare.play import Schedules
from ridgeline.sim.requests.flow import flow_of_trace
from ridgeline.sim.requests.published import FAMILIES, FREE_SCHEDULE, NONE, SCHEDULE, SPECULATING
from ridgeline.sim.requests.traffic import SizeMix, Trace
from ridgeline.sim.requests.truth import Truth, crossing
from ridgeline.terms.methods import Method
from ridgeline.terms.modes import Mode
from ridgeline.terms.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSizes:
    """Mean sizes in tokens: of requests that come, and of those in decode (long ones stay longer).

    Attributes:
        prompt: Prompt tokens of a request that comes.
        output: Output tokens of a request that comes.
        held_prompt: Prompt tokens of a request in decode.
        held_output: Output tokens of a request in decode.
    """

    prompt: float
    output: float
    held_prompt: float
    held_output: float

    @property
    def context_tokens(self) -> float:
        """Mean tokens in the KV cache of a request in decode."""
        return self.held_prompt + self.held_output / 2

    @property
    def prefill_per_token(self) -> float:
        """Prompt tokens computed per generated token."""
        return self.prompt / self.output

    def curve(self, truth: Truth, profile: str) -> Curve:
        """Return the tokens/s of one replica with such requests."""
        held = (self.held_prompt, self.held_output)
        return truth.curve(profile, prompt=self.prompt, output=self.output, held=held)


def sizes_of(source: Trace | LoadCurve | None, usual: SizeMix) -> RequestSizes:
    """Return the sizes of a file's requests; of a mix where the file does not tell them."""
    if isinstance(source, Trace):
        flow = flow_of_trace(source, source.seconds + 1.0)
        return RequestSizes(
            prompt=flow.prompt,
            output=flow.output,
            held_prompt=flow.held_prompt,
            held_output=flow.held_output,
        )
    mix = usual if source is None else source.mix(usual)
    return RequestSizes(
        prompt=mix.prompt,
        output=mix.output,
        held_prompt=mix.prompt,
        held_output=mix.output * (1.0 + mix.output_variation**2),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to ask the operator.

    Attributes:
        name: Its name, such as `Goodput`.
        about: What it is, as a sentence without a full stop.
        settings: What it is asked.
    """

    name: str
    about: str
    settings: PolicySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A deployment, what is true of it, and what the operator believes and is asked.

    Attributes:
        subject: What it is, in a few words.
        facts: What it rests on, as name and text.
        sizes: Sizes of requests.
        truth: What its replicas really do.
        table: The cut-offs as they are believed, with curves.
        variants: Ways to ask the operator; the first is the one that it is about.
        schedules: What schedules ask for; `None` without any.
        today: Profile that runs without the operator.
        engine_schedules: Names of profiles with an in-engine schedule: nobody rolls to them.
        cautions: What a reader must know.
    """

    subject: str
    facts: tuple[tuple[str, str], ...]
    sizes: RequestSizes
    truth: Truth
    table: CutoffTable
    variants: tuple[Variant, ...]
    schedules: Schedules | None = None
    today: str
    engine_schedules: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    @property
    def none(self) -> str:
        """Profile that speculates nothing."""
        return self.truth.profiles[-1].name

    @property
    def profiles(self) -> tuple[str, ...]:
        """Profiles that may be rolled to, none last."""
        names = (each.name for each in self.truth.profiles)
        return tuple(each for each in names if each not in self.engine_schedules)

    def cutoff(self) -> float:
        """Return the believed cut-off to none: requests in decode per engine.

        Where none never wins it is the end of the best profile's curve, and where it always wins
        the begin.
        """
        none = self.table.curve(self.none)
        others = [each for each in self.table.curves if each.profile != self.none]
        borders = [row.up_to for row in self.table.rows if row.up_to is not None]
        if self.table.rows[-1].profile == self.none and borders:
            return borders[-1]
        if none is None or not others:
            return self.truth.max_seqs / 2.0
        return max(_last_lead(each, none) for each in others)

    def cutoff_demand(self) -> float:
        """Return D*: tokens/s of one replica at the believed cut-off."""
        none = self.table.curve(self.none) or self.sizes.curve(self.truth, self.none)
        return none.tokens_at(self.cutoff())


def _last_lead(curve: Curve, none: Curve) -> float:
    """Return the highest concurrency at which a curve is above none's, at least the first."""
    points = [each for each in none.concurrency if curve.tokens_at(each) > none.tokens_at(each)]
    return max(points, default=none.concurrency[0])


def published_case(name: str, sizes: RequestSizes, *, cutoff_error: float = 0.0) -> Case:
    """Return a deployment whose step times were published, with its cut-off known.

    Args:
        name: `70b`, `8b` or `weak`.
        sizes: Sizes of requests.
        cutoff_error: How far the believed cut-off lies beside the true one, such as 0.25.

    Raises:
        KeyError: There is none of that name.
    """
    truth = FAMILIES[name]()
    kept = tuple(each for each in truth.profiles if each.name != FREE_SCHEDULE)
    truth = replace(truth, profiles=kept)
    speculating, none = (sizes.curve(truth, each) for each in (SPECULATING, NONE))
    believed = stretched(speculating, none, cutoff_error)
    table = _table(believed, none)
    settings = PolicySettings(
        mode=Mode.AUTOMATIC,
        suspended=False,
        methods={SPECULATING: Method.EAGLE, NONE: Method.DISABLED},
        cutoff=table,
        stabilization=Stabilization(busier_seconds=60.0, quieter_seconds=600.0),
        cooldown_seconds=1800.0,
        max_switches_per_day=6,
        prediction=Prediction(basis=f"published tables of {name}"),
    )
    about = "the control law with a cut-off table from published step times"
    return Case(
        subject=f"{name}, as published",
        facts=(("deployment", f"{name}: {(FAMILIES[name].__doc__ or '').splitlines()[0]}"),),
        sizes=sizes,
        truth=truth,
        table=table,
        variants=(Variant(name="Goodput", about=about, settings=settings),),
        today=SPECULATING,
        engine_schedules=(SCHEDULE,),
    )


def _table(speculating: Curve, none: Curve) -> CutoffTable:
    cutoff = crossing(speculating, none)
    return CutoffTable(
        (
            CutoffRow(
                profile=speculating.profile,
                up_to=cutoff,
                return_below=0.9 * cutoff,
                band=Band(cutoff=cutoff, low=0.9 * cutoff, high=1.1 * cutoff),
            ),
            CutoffRow(profile=none.profile),
        ),
        verdict=Verdict.YES,
        reasons=("step times were published",),
        curves=(thinned(speculating), thinned(none)),
    )


def stretched(speculating: Curve, none: Curve, error: float) -> Curve:
    """Return the speculating curve with its gain stretched along concurrency by 1 + error."""
    speeds = []
    best = 0.0
    for batch in speculating.concurrency:
        at = batch / (1.0 + error)
        gain = speculating.tokens_at(at) / none.tokens_at(at)
        best = max(best, none.tokens_at(batch) * gain)
        speeds.append(best)
    return replace(speculating, tokens_per_second=tuple(speeds))


def thinned(curve: Curve, every: int = 4) -> Curve:
    """Return a curve with fewer points: the last one stays."""
    last = len(curve.concurrency) - 1
    kept = sorted({*range(0, last, every), last})
    return Curve(
        profile=curve.profile,
        concurrency=tuple(curve.concurrency[each] for each in kept),
        tokens_per_second=tuple(curve.tokens_per_second[each] for each in kept),
    )
