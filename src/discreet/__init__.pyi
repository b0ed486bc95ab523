import discreet.record.table_release as _former

from .analysis.audit import audit as audit
from .analysis.composition import Accountant as Accountant
from .analysis.error_laws import error_law as error_law
from .analysis.error_laws import expected_error as expected_error
from .analysis.optimum import optimal as optimal
from .analysis.privacy import delta_at as delta_at
from .analysis.privacy import loss_profile as loss_profile
from .analysis.privacy import privacy_loss as privacy_loss
from .analysis.privacy import renyi_loss as renyi_loss
from .analysis.privacy import verify as verify
from .data.count import CategoryCounts as CategoryCounts
from .data.count import TableCounts as TableCounts
from .data.count import count as count
from .errors import BudgetError as BudgetError
from .errors import ClaimError as ClaimError
from .errors import CopyWarning as CopyWarning
from .errors import DiscreetError as DiscreetError
from .errors import EntropyError as EntropyError
from .errors import InternalError as InternalError
from .errors import InvalidInputError as InvalidInputError
from .errors import LedgerError as LedgerError
from .errors import RefusedError as RefusedError
from .errors import RepeatedError as RepeatedError
from .errors import SecondBudgetWarning as SecondBudgetWarning
from .errors import SourceError as SourceError
from .errors import TooLargeError as TooLargeError
from .inference.capabilities import Capabilities as Capabilities
from .inference.capabilities import capabilities as capabilities
from .inference.noise_aware import NoiseAware as NoiseAware
from .inference.quantities import Contrast as Contrast
from .inference.several.chains import CombinedDraws as CombinedDraws
from .inference.several.combine import combine as combine
from .inference.several.tables import CombinedTable as CombinedTable
from .inference.tables.posterior import TablePosterior as TablePosterior
from .ledger.ledger import Ledger as Ledger
from .mechanisms import Calibrated as Calibrated
from .mechanisms import HellingerGlobal as HellingerGlobal
from .mechanisms import HellingerLocal as HellingerLocal
from .mechanisms import HellingerSmooth as HellingerSmooth
from .mechanisms import HellingerSmoothDelta as HellingerSmoothDelta
from .mechanisms import LaplaceDimension as LaplaceDimension
from .mechanisms import LaplaceHistogram as LaplaceHistogram
from .mechanisms import LaplaceZhang as LaplaceZhang
from .mechanisms import LatticeGeometric as LatticeGeometric
from .mechanisms import Mechanism as Mechanism
from .mechanisms import MetricExponential as MetricExponential
from .mechanisms import Remapped as Remapped
from .mechanisms import mechanism as mechanism
from .model.dirichlet import Beta as Beta
from .model.dirichlet import Dirichlet as Dirichlet
from .model.distances import chi2 as chi2
from .model.distances import hellinger as hellinger
from .model.distances import kl as kl
from .model.distances import renyi as renyi
from .model.distances import total_variation as total_variation
from .model.distances import total_variation_bounds as total_variation_bounds
from .model.distances import total_variation_estimate as total_variation_estimate
from .model.sensitivity import global_sensitivity as global_sensitivity
from .model.sensitivity import local_sensitivity as local_sensitivity
from .model.sensitivity import smooth_sensitivity as smooth_sensitivity
from .planning.comparison import compare as compare
from .planning.expected_widths import expected_width as expected_width
from .planning.plans import plan as plan
from .planning.records_curves import records_curve as records_curve
from .planning.width_plans import width_curve as width_curve
from .record.about import About as About
from .record.about import CountingRule as CountingRule
from .record.files import read as read
from .record.guarantee import Guarantee as Guarantee
from .record.release import Release as Release
from .requests.study import Study as Study

TableRelease = _former.TableRelease

__version__: str
__all__: list[str]
