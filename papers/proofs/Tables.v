(* Counts as lists of whole numbers, the two neighbour relations, and the mechanisms that add noise to counts. *)
From Coq Require Import Reals Lra List ZArith Lia Bool.
From Discreet Require Import Sums Laws Composition Lattice.
Import ListNotations.
Open Scope R_scope.

(* A record comes or goes: one count changes by one. A record is replaced: one count falls by one, and then one rises by one. *)
Definition add_or_remove_one : relation (list Z) := one_of one_more_or_less.
Definition replace_one : relation (list Z) :=
  fun x y => exists z, one_of (fun a b => b = a - 1)%Z x z /\ one_of (fun a b => b = a + 1)%Z z y.

Fixpoint distance (x z : list Z) : Z := match x, z with a :: x', b :: z' => (Z.abs (b - a) + distance x' z')%Z | _, _ => 0%Z end.
Definition total (x : list Z) : Z := fold_right Z.add 0%Z x.

Lemma one_of_weaken {X} (adj adj' : relation X) x y : (forall a b, adj a b -> adj' a b) -> one_of adj x y -> one_of adj' x y.
Proof. intros h n. induction n; [left; auto|right; auto]. Qed.

Lemma one_of_length {X} (adj : relation X) x y : one_of adj x y -> length x = length y.
Proof. intros n. induction n; simpl; congruence. Qed.

Lemma one_of_total c x y : one_of (fun a b => b = a + c)%Z x y -> total y = (total x + c)%Z.
Proof. intros n. unfold total. induction n; simpl in *; subst; lia. Qed.

Lemma replace_one_keeps x y : replace_one x y -> length x = length y /\ total x = total y.
Proof.
  intros [z [a b]]. split; [rewrite (one_of_length _ _ _ a); apply (one_of_length _ _ _ b)|].
  apply (one_of_weaken _ (fun a b => b = a + -1)%Z) in a; [|intros; lia].
  pose proof (one_of_total _ _ _ a). pose proof (one_of_total _ _ _ b). lia.
Qed.

Lemma one_of_distance x y z : one_of one_more_or_less x y -> (distance y z <= distance x z + 1)%Z.
Proof.
  intros n. revert z. induction n as [a b l [e|e]|a l l' n IH]; intros [|c z]; simpl; try (subst; lia); try lia. specialize (IH z). lia.
Qed.

Lemma replace_one_steps x y : replace_one x y -> exists z, one_of one_more_or_less x z /\ one_of one_more_or_less z y.
Proof.
  intros [z [a b]]. exists z. split; [apply (one_of_weaken _ _ _ _ (fun _ _ h => or_intror h) a)|apply (one_of_weaken _ _ _ _ (fun _ _ h => or_introl h) b)].
Qed.

Lemma replace_one_distance x y z : replace_one x y -> (distance y z <= distance x z + 2)%Z.
Proof. intros n. destruct (replace_one_steps x y n) as [u [a b]]. pose proof (one_of_distance x u z a). pose proof (one_of_distance u y z b). lia. Qed.

Lemma one_of_symmetric {X} (adj adj' : relation X) x y : (forall a b, adj a b -> adj' b a) -> one_of adj x y -> one_of adj' y x.
Proof. intros h n. induction n; [left; auto|right; auto]. Qed.

Lemma replace_one_symmetric : symmetric replace_one.
Proof.
  intros x y [z [a b]]. exists z. split; [apply (one_of_symmetric _ _ _ _) with (2 := b)|apply (one_of_symmetric _ _ _ _) with (2 := a)]; simpl; intros; lia.
Qed.

Lemma add_or_remove_one_symmetric : symmetric add_or_remove_one.
Proof. intros x y n. apply (one_of_symmetric _ _ _ _) with (2 := n). unfold one_more_or_less. intros; lia. Qed.

(*| cells_private
Independent noise on every count hides that someone is among the data. Two-sided geometric noise $P(z) = \prod_i \frac{1 - q}{1 + q} q^{|z_i - x_i|}$, $q = e^{-\varepsilon}$, on any number of counts is $\varepsilon$-private where neighbours are $x$ and $x \pm e_i$.
papers: none
python: LatticeGeometric
by hand: nothing.
test: test_cells_world
|*)
Theorem cells_private (eps : R) (positive : 0 < eps) : private add_or_remove_one eps (each (geometric eps positive)).
Proof. apply groups_private, geometric_private. Qed.

(* The law of independent noise, in one formula. *)
Lemma cells_mass s (positive : 0 < s) x z : length z = length x ->
  each (geometric s positive) x z = (/ ((1 + exp (- s)) / (1 - exp (- s)))) ^ length x * exp (- s * IZR (distance x z)).
Proof.
  revert z. induction x as [|a x IH]; intros [|b z] e; try discriminate; simpl.
  - rewrite Rmult_0_r, exp_0. ring.
  - rewrite IH by (simpl in e; congruence). unfold two_sided. rewrite plus_IZR, Rmult_plus_distr_l, exp_plus. ring.
Qed.

(* Counts with a public total: the lattice of all whole numbers with the same total. *)
Definition possible (x z : list Z) : bool := (length z =? length x)%nat && (total z =? total x)%Z.
Definition replaced (x z : list Z) : R := IZR (distance x z) / 2.
Definition lattice_weight (eps : R) (x z : list Z) : R := if possible x z then exp (- eps * replaced x z) else 0.

Lemma possible_spec x z : possible x z = true <-> length z = length x /\ total z = total x.
Proof. unfold possible. rewrite andb_true_iff, Nat.eqb_eq, Z.eqb_eq. tauto. Qed.

Lemma lattice_weight_nonneg eps x : nonneg (lattice_weight eps x).
Proof. intros z. unfold lattice_weight. destruct (possible x z); [left; apply exp_pos|lra]. Qed.

Section Fixed_total.
Variables (eps : R) (positive : 0 < eps).
Let half : 0 < eps / 2.
Proof. lra. Qed.

(* The weights can be summed: independent noise has the same weights up to a factor. *)
Lemma lattice_sum x : {Z | sum_over (fun z => possible x z = true) (lattice_weight eps x) Z}.
Proof.
  set (c := / ((1 + exp (- (eps / 2))) / (1 - exp (- (eps / 2))))).
  assert (q : exp (- (eps / 2)) < 1) by (rewrite <- exp_0; apply exp_increasing; lra). pose proof (exp_pos (- (eps / 2))).
  assert (c0 : 0 < c) by (apply Rinv_0_lt_compat, Rdiv_lt_0_compat; lra).
  apply (sum_over_exists _ _ (/ c ^ length x)). intros l n i.
  rewrite (sum_eq _ (fun z => / c ^ length x * each (geometric (eps / 2) half) x z)).
  - rewrite sum_scale. rewrite <- Rmult_1_r. apply Rmult_le_compat_l; [left; apply Rinv_0_lt_compat, pow_lt, c0|].
    apply (sum_over_bound _ _ _ _ (mass_total _) n). unfold everything; auto.
  - intros z h. pose proof (i z h) as p. apply possible_spec in p. rewrite cells_mass by tauto. fold c.
    unfold lattice_weight. rewrite (i z h). rewrite <- Rmult_assoc, Rinv_l, Rmult_1_l by (apply pow_nonzero; lra).
    unfold replaced. f_equal. field.
Qed.

Definition lattice_total (x : list Z) : R :=
  let s : {s | sum_over (fun z => possible x z = true) (lattice_weight eps x) s} := lattice_sum x in proj1_sig s.

Lemma lattice_sums x : sums (lattice_weight eps x) (lattice_total x).
Proof.
  apply (sum_over_support (fun z => possible x z = true)); [apply lattice_weight_nonneg| |exact (proj2_sig (lattice_sum x))].
  intros z h. unfold lattice_weight. destruct (possible x z); [congruence|reflexivity].
Qed.

Lemma lattice_total_positive x : 0 < lattice_total x.
Proof.
  apply Rlt_le_trans with (lattice_weight eps x x); [|apply (sum_over_one _ _ _ x (lattice_sums x)); exact I].
  unfold lattice_weight. replace (possible x x) with true by (symmetry; apply possible_spec; tauto). apply exp_pos.
Qed.

(* The lattice looks the same from every point. *)
Fixpoint moved (x y z : list Z) : list Z := match x, y, z with a :: x', b :: y', c :: z' => (c + b - a)%Z :: moved x' y' z' | _, _, _ => [] end.

Lemma moved_facts x y z : length x = length y -> length z = length x ->
  length (moved x y z) = length x /\ total (moved x y z) = (total z + total y - total x)%Z /\ distance y (moved x y z) = distance x z /\
  moved y x (moved x y z) = z.
Proof.
  revert y z. induction x as [|a x IH]; intros [|b y] [|c z] e f; try discriminate; simpl; auto.
  destruct (IH y z) as [l [t [d m]]]; [simpl in *; congruence|simpl in *; congruence|].
  unfold total in *. simpl. rewrite l, t, d, m. repeat split; try lia; f_equal; lia.
Qed.

Lemma lattice_total_same x y : length x = length y -> lattice_total x = lattice_total y.
Proof.
  intros e. apply (sum_over_unique (fun z => possible y z = true) (lattice_weight eps y)); [|exact (proj2_sig (lattice_sum y))].
  apply (sum_over_bijection (moved x y) (fun z => possible x z = true) _ (lattice_weight eps x)); [| | | |exact (proj2_sig (lattice_sum x))].
  - intros z p. apply possible_spec in p. destruct p as [p t]. destruct (moved_facts x y z e p) as [l [u _]]. apply possible_spec. lia.
  - intros z z' p p' m. apply possible_spec in p, p'. destruct p as [p _], p' as [p' _].
    destruct (moved_facts x y z e p) as [_ [_ [_ back]]]. destruct (moved_facts x y z' e p') as [_ [_ [_ back']]]. congruence.
  - intros z p. apply possible_spec in p. destruct p as [p t]. destruct (moved_facts y x z) as [l [u [_ back]]]; [congruence|exact p|].
    exists (moved y x z). split; [apply possible_spec; lia|exact back].
  - intros z p. unfold lattice_weight. rewrite p. apply possible_spec in p. destruct p as [p t].
    destruct (moved_facts x y z e p) as [l [u [d _]]].
    replace (possible y (moved x y z)) with true by (symmetry; apply possible_spec; lia). unfold replaced. rewrite d. reflexivity.
Qed.

(* P(z) is proportional to e^(- eps d(x, z)), d half the sum of |z_i - x_i|, on all whole numbers with the total of x. *)
Definition lattice (x : list Z) : law (list Z) :=
  normalised (lattice_weight eps x) (lattice_total x) (lattice_weight_nonneg eps x) (lattice_sums x) (lattice_total_positive x).

(*| fixed_total_private
The lattice mechanism with a public total hides anyone's answer. On $\{z \in \mathbb{Z}^k : \sum z = \sum x\}$ the law $P_x(z) \propto e^{-\varepsilon d(x, z)}$, $d(x, z) = \frac{1}{2} \sum_i |z_i - x_i|$, exists and is $\varepsilon$-private where neighbours are $x$ and $x - e_i + e_j$.
papers: none
python: LatticeGeometric
by hand: nothing.
test: test_lattice_world
|*)
Theorem fixed_total_private : private replace_one eps lattice.
Proof.
  unfold lattice. apply (lattice_private replace_one eps lattice_total replaced possible).
  - lra.
  - intros x y n. apply lattice_total_same, replace_one_keeps, n.
  - intros x y z n. destruct (replace_one_keeps x y n) as [l t]. unfold possible. rewrite l, t. reflexivity.
  - intros x y z n _. unfold replaced. pose proof (replace_one_distance x y z n) as d. apply IZR_le in d. rewrite plus_IZR in d. lra.
Qed.

(*| blocks_private
A table with public sizes of its groups costs $\varepsilon$ once. With the lattice mechanism in every group and neighbours that replace one record within its group, all groups together are $\varepsilon$-private; groups may have different numbers of cells.
papers: none
python: LatticeGeometric
by hand: nothing.
test: test_blocks_world
|*)
Theorem blocks_private : private (one_of replace_one) eps (each lattice).
Proof. apply groups_private, fixed_total_private. Qed.
End Fixed_total.

(* Floored Laplace noise on counts, as the papers have it. *)
Definition perhaps {X} (adj : relation X) : relation X := fun x y => x = y \/ adj x y.

Lemma perhaps_private {X A} (adj : relation X) s (M : X -> law A) : 0 <= s -> private adj s M -> private (perhaps adj) s M.
Proof.
  intros s0 h x y [e|n]; [|apply h, n]. subst. intros E. rewrite <- (Rmult_1_l (Pr _ E)) at 1.
  apply Rmult_le_compat_r; [apply Pr_nonneg|]. rewrite <- exp_0. apply exp_le, s0.
Qed.

Lemma but_last {X} (adj : relation X) x y : one_of adj x y -> perhaps (one_of adj) (removelast x) (removelast y).
Proof.
  intros n. induction n as [a b l n|a l l' n IH].
  - destruct l; simpl; [left; reflexivity|right; left; exact n].
  - pose proof (one_of_length _ _ _ n) as e. destruct l as [|c l], l' as [|c' l']; try discriminate; [inversion n|].
    cbn [removelast] in *. destruct IH as [h|h]; [left; congruence|right; right; exact h].
Qed.

(*| laplace_private
Floored Laplace noise on every count. $\lfloor x_i + \mathrm{Lap}(1/s) \rfloor$ for every count is $2s$-private where neighbours are $x$ and $x - e_i + e_j$; with $s = \varepsilon / 2$ it is $\varepsilon$-private.
papers: 000 section 4.1
python: LaplaceZhang
by hand: that $\lfloor \mathrm{Lap}(1/s) \rfloor$ has $P(t) = \frac{1 - q}{2} q^{\max(t, -1-t)}$, $q = e^{-s}$ ([mechanisms](../explain/mechanisms.md)); clamping is `post_processing`.
test: test_laplace_world
|*)
Theorem laplace_private (s : R) (positive : 0 < s) : private replace_one (2 * s) (each (floored_laplace s positive)).
Proof.
  intros x y n. destruct (replace_one_steps x y n) as [z [a b]]. apply (steps_private (one_of one_more_or_less) s _ 2).
  - apply groups_private, floored_laplace_private.
  - exists z. split; [exact a|]. exists y. split; [exact b|reflexivity].
Qed.

(*| laplace_but_last_private
Floored Laplace noise on all counts but the last. It is $2s$-private; with $s = \varepsilon / 2$ it is $\varepsilon$-private, and with $s = \varepsilon / k$ it is $2 \varepsilon / k$-private.
papers: 000 section 4.1
python: LaplaceHistogram, LaplaceDimension
by hand: as for `laplace_private`.
test: test_laplace_world
|*)
Theorem laplace_but_last_private (s : R) (positive : 0 < s) :
  private replace_one (2 * s) (fun x => each (floored_laplace s positive) (removelast x)).
Proof.
  intros x y n. destruct (replace_one_steps x y n) as [z [a b]]. apply (steps_private (perhaps (one_of one_more_or_less)) s _ 2).
  - apply perhaps_private; [lra|]. apply groups_private, floored_laplace_private.
  - exists (removelast z). split; [apply but_last, a|]. exists (removelast y). split; [apply but_last, b|reflexivity].
Qed.

(*| laplace_two_private
Floored Laplace noise on the first of two counts. It is $s$-private: replacing a record changes the count by at most one.
papers: 000 section 4.1
python: LaplaceHistogram, LaplaceDimension
by hand: as for `laplace_private`.
test: test_laplace_world
|*)
Theorem laplace_two_private (s : R) (positive : 0 < s) :
  private (fun x y => length x = 2%nat /\ replace_one x y) s (fun x => each (floored_laplace s positive) (removelast x)).
Proof.
  intros x y [two n]. apply (perhaps_private (one_of one_more_or_less) s); [lra|apply groups_private, floored_laplace_private|].
  destruct n as [z [a b]]. destruct x as [|x1 [|x2 [|]]]; try discriminate.
  repeat match goal with h : one_of _ (_ :: _) _ |- _ => inversion h; subst; clear h | h : one_of _ [] _ |- _ => inversion h end; simpl;
    try (left; f_equal; lia); right; left; unfold one_more_or_less; lia.
Qed.
