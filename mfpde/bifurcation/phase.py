"""placeholder"""


class PhaseDiagram: ...


def phase_diagram(): ...
