(* The Hellinger distance of densities, for any integral that is linear and positive, and its closed form for Dirichlet distributions. *)
From Coq Require Import Reals Lra List.
From Discreet Require Import Sums Exponential.
Import ListNotations.
Open Scope R_scope.

(* What is used of an integral: which functions it takes, that it is linear, and that it keeps the order. *)
Record integral (T : Type) := {
  takes : (T -> R) -> Prop;
  value : (T -> R) -> R;
  takes_combination : forall f g a b, takes f -> takes g -> takes (fun t => a * f t + b * g t);
  value_linear : forall f g a b, takes f -> takes g -> value (fun t => a * f t + b * g t) = a * value f + b * value g;
  value_positive : forall f, takes f -> (forall t, 0 <= f t) -> 0 <= value f;
  value_same : forall f g, (forall t, f t = g t) -> takes f -> takes g /\ value f = value g }.
Arguments takes {T}. Arguments value {T}. Arguments takes_combination {T}. Arguments value_linear {T}.
Arguments value_positive {T}. Arguments value_same {T}.

(* There are such integrals: a sum over a list is one. *)
Program Definition counting {T} (l : list T) : integral T := {| takes := everything; value := fun f => sum f l |}.
Next Obligation. induction l as [|t l IH]; simpl; [ring|rewrite IH; ring]. Qed.
Next Obligation. apply sum_nonneg. assumption. Qed.
Next Obligation. split; [exact I|]. apply sum_eq. auto. Qed.

Section Densities.
Context {T A : Type}.
Variables (I : integral T) (density : A -> T -> R).
Hypothesis density_nonneg : forall a t, 0 <= density a t.
Hypothesis density_takes : forall a, takes I (density a).
Hypothesis density_total : forall a, value I (density a) = 1.
Definition overlap (a b : A) (t : T) : R := sqrt (density a t * density b t).
Hypothesis overlap_takes : forall a b, takes I (overlap a b).

(* The affinity of two densities, and their Hellinger distance. *)
Definition affinity (a b : A) : R := value I (overlap a b).
Definition hellinger (a b : A) : R := sqrt (1 - affinity a b).

Let root a t := sqrt (density a t).
Let root_product a b t : overlap a b t = root a t * root b t.
Proof. apply sqrt_mult; apply density_nonneg. Qed.

Lemma affinity_self a : affinity a a = 1.
Proof.
  rewrite <- (density_total a). apply (value_same I); [|apply overlap_takes]. intros t. unfold overlap. rewrite sqrt_square; auto.
Qed.

Lemma affinity_symmetric a b : affinity a b = affinity b a.
Proof. apply (value_same I); [|apply overlap_takes]. intros t. unfold overlap. rewrite Rmult_comm. reflexivity. Qed.

Lemma affinity_nonneg a b : 0 <= affinity a b.
Proof. apply (value_positive I); [apply overlap_takes|]. intros t. apply sqrt_pos. Qed.

(* The integral of a square of a combination of three roots, by the affinities. *)
Lemma square_positive a b c x y z :
  0 <= x * x + y * y + z * z + 2 * x * y * affinity a b + 2 * x * z * affinity a c + 2 * y * z * affinity b c.
Proof.
  pose (f1 := fun t => x * x * density a t + y * y * density b t).
  pose (f2 := fun t => 1 * f1 t + z * z * density c t).
  pose (f3 := fun t => 1 * f2 t + 2 * x * y * overlap a b t).
  pose (f4 := fun t => 1 * f3 t + 2 * x * z * overlap a c t).
  pose (f5 := fun t => 1 * f4 t + 2 * y * z * overlap b c t).
  assert (t1 : takes I f1) by (apply takes_combination; apply density_takes).
  assert (t2 : takes I f2) by (apply takes_combination; [exact t1|apply density_takes]).
  assert (t3 : takes I f3) by (apply takes_combination; [exact t2|apply overlap_takes]).
  assert (t4 : takes I f4) by (apply takes_combination; [exact t3|apply overlap_takes]).
  assert (t5 : takes I f5) by (apply takes_combination; [exact t4|apply overlap_takes]).
  assert (v : value I f5 = x * x + y * y + z * z + 2 * x * y * affinity a b + 2 * x * z * affinity a c + 2 * y * z * affinity b c).
  { unfold f5. rewrite value_linear by (exact t4 || apply overlap_takes). unfold f4. rewrite value_linear by (exact t3 || apply overlap_takes).
    unfold f3. rewrite value_linear by (exact t2 || apply overlap_takes). unfold f2. rewrite value_linear by (exact t1 || apply density_takes).
    unfold f1. rewrite value_linear by apply density_takes. rewrite !density_total. unfold affinity. ring. }
  rewrite <- v. apply (value_positive I); [exact t5|]. intros t. unfold f5, f4, f3, f2, f1.
  rewrite !root_product. rewrite <- (sqrt_sqrt (density a t)), <- (sqrt_sqrt (density b t)), <- (sqrt_sqrt (density c t)) by apply density_nonneg.
  fold (root a t) (root b t) (root c t).
  replace (1 * (1 * (1 * (1 * (x * x * (root a t * root a t) + y * y * (root b t * root b t)) + z * z * (root c t * root c t)) +
    2 * x * y * (root a t * root b t)) + 2 * x * z * (root a t * root c t)) + 2 * y * z * (root b t * root c t))
    with (Rsqr (x * root a t + y * root b t + z * root c t)) by (unfold Rsqr; ring).
  apply Rle_0_sqr.
Qed.

Lemma affinity_at_most_1 a b : affinity a b <= 1.
Proof. pose proof (square_positive a b b 1 (-1) 0). lra. Qed.

(*| hellinger_metric
The Hellinger distance is a metric that is at most 1. For densities $p_a$ under any integral that is linear and positive, $H(a, b) = \sqrt{1 - \int \sqrt{p_a p_b}}$ has $H(a, a) = 0$, $H(a, b) = H(b, a)$, the triangle inequality, and $0 \le H \le 1$.
papers: 000 section 4.2, used in Lemma 5.1 and section 7.1
python: discreet.hellinger
by hand: that the Lebesgue integral over the simplex is linear and positive, and takes these densities and the roots of their products.
test: test_hellinger_world
|*)
Theorem hellinger_metric : metric hellinger /\ forall a b, 0 <= hellinger a b <= 1.
Proof.
  split; [split|].
  - intros a. unfold hellinger. rewrite affinity_self, Rminus_eq_0. apply sqrt_0.
  - intros a b. unfold hellinger. rewrite affinity_symmetric. reflexivity.
  - intros a b c. unfold hellinger.
    set (u := 1 - affinity a b). set (v := 1 - affinity b c). set (w := 1 - affinity a c).
    assert (u0 : 0 <= u) by (unfold u; pose proof (affinity_at_most_1 a b); lra).
    assert (v0 : 0 <= v) by (unfold v; pose proof (affinity_at_most_1 b c); lra).
    assert (w0 : 0 <= w) by (unfold w; pose proof (affinity_at_most_1 a c); lra).
    set (r := sqrt u). set (s := sqrt v).
    assert (r0 : 0 <= r) by apply sqrt_pos. assert (s0 : 0 <= s) by apply sqrt_pos.
    assert (ru : r * r = u) by (apply sqrt_sqrt; exact u0). assert (sv : s * s = v) by (apply sqrt_sqrt; exact v0).
    apply Rsqr_incr_0_var; [|lra]. rewrite Rsqr_sqrt by exact w0. unfold Rsqr.
    (* the square of s (p_a - p_b) - r (p_b - p_c), with roots of densities *)
    pose proof (square_positive a b c s (- s - r) r) as q.
    assert (E : s * s + (- s - r) * (- s - r) + r * r + 2 * s * (- s - r) * affinity a b + 2 * s * r * affinity a c + 2 * (- s - r) * r * affinity b c
                = 2 * (s * s) * u + 2 * (r * r) * v + 2 * (s * r) * (u + v - w)) by (unfold u, v, w; ring).
    rewrite E, ru, sv in q. clear E.
    assert (E2 : 2 * v * u + 2 * u * v + 2 * (s * r) * (u + v - w) = 2 * (s * r) * (2 * (s * r) + u + v - w)) by (rewrite <- ru, <- sv; ring).
    rewrite E2 in q. clear E2.
    replace ((r + s) * (r + s)) with (u + v + 2 * (s * r)) by (rewrite <- ru, <- sv; ring).
    destruct (Req_dec (s * r) 0) as [z|nz].
    + (* one of the two distances is 0 *)
      clear q. apply Rmult_integral in z. destruct z as [z|z].
      * assert (v = 0) as vz by (rewrite <- sv, z; ring).
        (* for every k: (p_a - p_b) + k (p_b - p_c) *)
        assert (lin : forall k, 0 <= 2 * u + 2 * k * (w - u - v) + 2 * (k * k) * v).
        { intros k. pose proof (square_positive a b c 1 (-1 + k) (- k)) as p. unfold u, v, w in *. lra. }
        rewrite vz, z in *. destruct (Rtotal_order (w - u) 0) as [lt|[eq|gt]]; [lra|lra|].
        pose proof (lin (- (u + 1) / (w - u))) as p.
        replace (2 * u + 2 * (- (u + 1) / (w - u)) * (w - u - 0) + 2 * (- (u + 1) / (w - u) * (- (u + 1) / (w - u))) * 0) with (-2) in p by (field; lra). lra.
      * assert (u = 0) as uz by (rewrite <- ru, z; ring).
        assert (lin : forall k, 0 <= 2 * v + 2 * k * (w - u - v) + 2 * (k * k) * u).
        { intros k. pose proof (square_positive a b c (k) (- k + 1) (- 1)) as p. unfold u, v, w in *. lra. }
        rewrite uz, z in *. destruct (Rtotal_order (w - v) 0) as [lt|[eq|gt]]; [lra|lra|].
        pose proof (lin (- (v + 1) / (w - v))) as p.
        replace (2 * v + 2 * (- (v + 1) / (w - v)) * (w - 0 - v) + 2 * (- (v + 1) / (w - v) * (- (v + 1) / (w - v))) * 0) with (-2) in p by (field; lra). lra.
    + assert (0 < s * r) by (pose proof (Rmult_le_pos s r s0 r0); lra).
      assert (0 <= 2 * (s * r) + u + v - w); [|lra].
      apply Rmult_le_reg_l with (2 * (s * r)); [lra|]. rewrite Rmult_0_r. exact q.
  - intros a b. unfold hellinger. split; [apply sqrt_pos|]. rewrite <- sqrt_1 at 2. apply sqrt_le_1; pose proof (affinity_at_most_1 a b); pose proof (affinity_nonneg a b); lra.
Qed.
End Densities.

(* Dirichlet distributions: densities proportional to products of powers of the shares. *)
Section Dirichlet.
Context {T : Type}.
Variables (I : integral T) (shares : T -> list R) (k : nat).

Fixpoint power_product (alpha theta : list R) : R :=
  match alpha, theta with a :: alpha', x :: theta' => Rpower x (a - 1) * power_product alpha' theta' | _, _ => 1 end.
Definition monomial (alpha : list R) (t : T) : R := power_product alpha (shares t).

(* The multivariate Beta function is the integral of the product of powers. *)
Definition beta (alpha : list R) : R := value I (monomial alpha).
Definition parameters (alpha : list R) := length alpha = k /\ Forall (fun a => 0 < a) alpha.
Hypothesis beta_takes : forall alpha, parameters alpha -> takes I (monomial alpha).
Hypothesis beta_positive : forall alpha, parameters alpha -> 0 < beta alpha.
Definition dirichlet (alpha : list R) (t : T) : R := / beta alpha * monomial alpha t.

Fixpoint middle (alpha alpha' : list R) : list R :=
  match alpha, alpha' with a :: l, b :: l' => (a + b) / 2 :: middle l l' | _, _ => [] end.

Lemma middle_parameters alpha alpha' : parameters alpha -> parameters alpha' -> parameters (middle alpha alpha').
Proof.
  unfold parameters. intros [l p] [l' p']. rewrite <- l in *. clear beta_takes beta_positive l.
  revert alpha' l' p'. induction p as [|a alpha pa p IH]; intros alpha' l' p'; destruct p' as [|b alpha' pb p']; try discriminate; simpl; [auto|].
  destruct (IH alpha') as [e f]; [simpl in l'; congruence|exact p'|]. split; [congruence|]. constructor; [lra|exact f].
Qed.

Lemma power_product_positive alpha theta : 0 < power_product alpha theta.
Proof. revert theta. induction alpha as [|a alpha IH]; intros [|x theta]; simpl; try lra. apply Rmult_lt_0_compat; [apply exp_pos|apply IH]. Qed.

Lemma sqrt_power x a b : sqrt (Rpower x (a - 1) * Rpower x (b - 1)) = Rpower x ((a + b) / 2 - 1).
Proof.
  rewrite <- Rpower_plus. replace (a - 1 + (b - 1)) with (((a + b) / 2 - 1) + ((a + b) / 2 - 1)) by field.
  rewrite Rpower_plus. apply sqrt_square. left. apply exp_pos.
Qed.

Lemma sqrt_power_product alpha alpha' theta : length alpha = length alpha' ->
  sqrt (power_product alpha theta * power_product alpha' theta) = power_product (middle alpha alpha') theta.
Proof.
  revert alpha' theta. induction alpha as [|a alpha IH]; intros [|b alpha'] [|x theta] e; simpl in *; try discriminate;
    try (rewrite Rmult_1_r; apply sqrt_1).
  replace (Rpower x (a - 1) * power_product alpha theta * (Rpower x (b - 1) * power_product alpha' theta))
    with (Rpower x (a - 1) * Rpower x (b - 1) * (power_product alpha theta * power_product alpha' theta)) by ring.
  rewrite sqrt_mult, sqrt_power, IH; [reflexivity|congruence| |];
    left; apply Rmult_lt_0_compat; try apply power_product_positive; apply exp_pos.
Qed.

(*| dirichlet_affinity
The affinity of two Dirichlet distributions is a ratio of Beta functions. With $B(\alpha) = \int \prod_i \theta_i^{\alpha_i - 1}$, $\int \sqrt{p_\alpha p_\beta} = B((\alpha + \beta)/2) / \sqrt{B(\alpha) B(\beta)}$.
papers: 000 section 4.2.3
python: discreet.hellinger
by hand: that the integral over the simplex takes these products, and that theirs is positive.
erratum: The papers write the Beta density without the -1 in its exponents.
test: test_hellinger_world
|*)
Theorem dirichlet_affinity (alpha alpha' : list R) : parameters alpha -> parameters alpha' ->
  value I (fun t => sqrt (dirichlet alpha t * dirichlet alpha' t)) = beta (middle alpha alpha') / sqrt (beta alpha * beta alpha').
Proof.
  intros p p'. pose proof (beta_positive alpha p) as b. pose proof (beta_positive alpha' p') as b'.
  assert (bb : 0 < sqrt (beta alpha * beta alpha')) by (apply sqrt_lt_R0, Rmult_lt_0_compat; assumption).
  pose proof (beta_takes _ (middle_parameters alpha alpha' p p')) as m.
  set (s := sqrt (beta alpha * beta alpha')) in *.
  pose proof (value_linear I _ _ (/ s) 0 m m) as l. pose proof (takes_combination I _ _ (/ s) 0 m m) as tk.
  assert (same : forall t, / s * monomial (middle alpha alpha') t + 0 * monomial (middle alpha alpha') t = sqrt (dirichlet alpha t * dirichlet alpha' t)).
  { intros t. unfold dirichlet, monomial. rewrite <- (sqrt_power_product alpha alpha') by (destruct p, p'; congruence).
    replace (/ beta alpha * power_product alpha (shares t) * (/ beta alpha' * power_product alpha' (shares t)))
      with (/ (beta alpha * beta alpha') * (power_product alpha (shares t) * power_product alpha' (shares t))) by (field; lra).
    rewrite (sqrt_mult (/ (beta alpha * beta alpha'))), sqrt_inv.
    - unfold s. ring.
    - left. apply Rinv_0_lt_compat, Rmult_lt_0_compat; assumption.
    - left. apply Rmult_lt_0_compat; apply power_product_positive. }
  destruct (value_same I _ _ same tk) as [_ v]. rewrite <- v, l. unfold beta. field. lra.
Qed.

(* In terms of the Gamma function, of which one fact is taken: the Beta function is a ratio of its values. *)
Variable Gamma : R -> R.
Definition added (alpha : list R) : R := sum (fun a => a) alpha.
Hypothesis Beta_by_Gamma : forall alpha, parameters alpha -> ln (beta alpha) = sum (fun a => ln (Gamma a)) alpha - ln (Gamma (added alpha)).

Definition gap (u v : R) : R := ln (Gamma u) / 2 + ln (Gamma v) / 2 - ln (Gamma ((u + v) / 2)).
Fixpoint gaps (alpha alpha' : list R) : R := match alpha, alpha' with a :: l, b :: l' => gap a b + gaps l l' | _, _ => 0 end.

(*| dirichlet_gap
The same by the Gamma function. If $B(\alpha) = \prod_i \Gamma(\alpha_i) / \Gamma(\sum_i \alpha_i)$, then $-\ln \int \sqrt{p_\alpha p_\beta} = \sum_i \mathrm{gap}(\alpha_i, \beta_i) - \mathrm{gap}(\sum \alpha, \sum \beta)$, $\mathrm{gap}(u, v) = \frac{1}{2} \ln \Gamma(u) + \frac{1}{2} \ln \Gamma(v) - \ln \Gamma(\frac{u + v}{2})$.
papers: 000 section 4.2.3
python: discreet.hellinger
by hand: the hypothesis `Beta_by_Gamma`, Dirichlet's integral.
test: test_hellinger_world
|*)
Theorem dirichlet_gap (alpha alpha' : list R) : parameters alpha -> parameters alpha' ->
  - ln (value I (fun t => sqrt (dirichlet alpha t * dirichlet alpha' t))) = gaps alpha alpha' - gap (added alpha) (added alpha').
Proof.
  intros p p'. rewrite (dirichlet_affinity alpha alpha' p p').
  pose proof (beta_positive alpha p) as b. pose proof (beta_positive alpha' p') as b'.
  pose proof (middle_parameters alpha alpha' p p') as pm. pose proof (beta_positive _ pm) as bm.
  assert (bb : 0 < sqrt (beta alpha * beta alpha')) by (apply sqrt_lt_R0, Rmult_lt_0_compat; assumption).
  assert (half : ln (sqrt (beta alpha * beta alpha')) = ln (beta alpha * beta alpha') / 2).
  { pose proof (ln_mult _ _ bb bb) as e. rewrite sqrt_sqrt in e by (left; apply Rmult_lt_0_compat; assumption). lra. }
  unfold Rdiv. rewrite ln_mult, ln_Rinv, half, ln_mult by (assumption || apply Rinv_0_lt_compat; assumption).
  rewrite (Beta_by_Gamma _ p), (Beta_by_Gamma _ p'), (Beta_by_Gamma _ pm).
  assert (E : gaps alpha alpha' = sum (fun a => ln (Gamma a)) alpha / 2 + sum (fun a => ln (Gamma a)) alpha' / 2
              - sum (fun a => ln (Gamma a)) (middle alpha alpha') /\ added (middle alpha alpha') = (added alpha + added alpha') / 2).
  { destruct p as [l _], p' as [l' _]. rewrite <- l in l'. clear - l'. unfold added. revert alpha' l'.
    induction alpha as [|a alpha IH]; intros [|b alpha'] e; simpl in *; try discriminate; [split; lra|].
    destruct (IH alpha') as [i j]; [congruence|]. rewrite i, j. unfold gap. split; lra. }
  destruct E as [E F]. rewrite E, F. unfold gap. lra.
Qed.
End Dirichlet.
